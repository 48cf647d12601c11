#compdef bregman
# zsh completion for bregman. Write it as _bregman into a folder of $fpath, or add to ~/.zshrc after compinit:
#   eval "$(bregman completion zsh)"
_bregman() {
    local line kind
    local -a lines names shown
    lines=("${(@f)$("${(Q)words[1]}" __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    kind=${lines[1]}
    shift lines
    for line in "${lines[@]}"; do
        [[ -n $line ]] || continue
        names+=("${line%%$'\t'*}")
        shown+=("${${line/$'\t'/  -- }%  -- }")
    done
    ((${#names})) && compadd -l -d shown -a names
    if [[ $kind == files || $kind == dirs ]]; then
        [[ $PREFIX == --*=* ]] && compset -P '*='
        [[ $kind == files ]] && _files || _files -/
    fi
    ((${#names})) || [[ $kind == files || $kind == dirs ]]
}
if [[ ${funcstack[1]} == _bregman ]]; then # loaded from a folder of $fpath
    _bregman "$@"
else
    compdef _bregman bregman
fi
