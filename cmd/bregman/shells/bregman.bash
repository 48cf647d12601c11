# bash completion for bregman. To have it in every shell, add to ~/.bashrc:
#   eval "$(bregman completion bash)"
_bregman() {
    local program=${1/#\~/$HOME} cur=${COMP_WORDS[COMP_CWORD]} kind word
    [[ $cur == [=:] ]] && cur=
    COMPREPLY=()
    {
        read -r kind
        while IFS=$'\t' read -r word _; do
            COMPREPLY+=("$word")
        done
    } < <("$program" __complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    if ((${#COMPREPLY[@]} == 0)); then # readline completes paths, with quotes and ~
        case $kind in
        files) compopt -o default ;;
        dirs) compopt -o dirnames ;;
        esac
    elif [[ $kind == files || $kind == dirs ]]; then
        compopt -o filenames
        while IFS= read -r word; do
            COMPREPLY+=("$word")
        done < <(if [[ $kind == files ]]; then compgen -f -- "$cur"; else compgen -d -- "$cur"; fi)
    fi
}
complete -F _bregman bregman
