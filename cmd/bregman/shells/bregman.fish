# fish completion for bregman. To have it in every shell:
#   bregman completion fish > ~/.config/fish/completions/bregman.fish
function __bregman_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l lines ($program __complete fish $words "$current" 2>/dev/null)
    set -l kind $lines[1]
    set -e lines[1]
    test (count $lines) -gt 0; and printf '%s\n' $lines
    set -l flag (string match -r -- '^--[^=]*=' $current)
    set -l path (string replace -- "$flag" '' $current)
    switch "$kind"
        case files
            __fish_complete_path $path | string replace -r '^' -- "$flag"
        case dirs
            __fish_complete_directories $path '' | string replace -r '^' -- "$flag"
    end
end
complete -c bregman -e
complete -c bregman -f -a '(__bregman_complete)'
