import { COMMON_OPTIONS } from '../command.ts'
import { shellQuote } from '../terminal/shell-quote.ts'
import type { CompletedCommand, CompletedOption } from './completed-command.ts'

/** Returns the completion script for bash. The script completes file names where it has no other completions. */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(
    ({ name, words, options }) =>
      `    ${name}) words='${words.join(' ')}' options='${flags(options).join(' ')}' ;;`,
  )
  return `_chaperone() {
  local current=\${COMP_WORDS[COMP_CWORD]} words='' options='' at=1 index
  COMPREPLY=()
  # The command stands at index $at. Bash splits --data=DIR into three words.
  if ((COMP_CWORD > 1)) && [[ \${COMP_WORDS[1]} == --data ]]; then
    at=3
    [[ \${COMP_WORDS[2]} == = ]] && at=4
    ((COMP_CWORD < at)) && return
  fi
  for ((index = at + 1; index < COMP_CWORD; index++)); do
    [[ \${COMP_WORDS[index]} == -- ]] && return
  done
  case \${COMP_WORDS[at]} in
${cases.join('\n')}
  esac
  if ((COMP_CWORD == at)); then
    words='${names(commands)}' options='--data --help --version'
  elif ((COMP_CWORD > at + 1)); then
    words=''
  fi
  [[ $current == -* ]] && words=$options
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _chaperone chaperone
`
}

export function zshScript(commands: readonly CompletedCommand[]): string {
  const described = (name: string, text: string) => shellQuote(`${name}:${text}`)
  const cases = commands.map(({ name, words, options }) => {
    const texts = options.flatMap((option) => flags([option]).map((each) => described(each, option.help)))
    return `    ${name}) values=(${words.join(' ')}) options=(${texts.join(' ')}) ;;`
  })
  return `#compdef chaperone
_chaperone() {
  local -a commands values options
  if ((CURRENT > 2)) && [[ $words[2] == --data ]]; then
    if ((CURRENT == 3)); then
      _files -/
      return
    fi
    words[2,3]=()
    ((CURRENT -= 2))
  elif ((CURRENT > 2)) && [[ $words[2] == --data=* ]]; then
    words[2]=()
    ((CURRENT -= 1))
  fi
  commands=(${commands.map(({ name, summary }) => described(name, summary)).join(' ')})
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  if ((\${words[(i)--]} < CURRENT)); then
    _files
    return
  fi
  case $words[2] in
${cases.join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe option options
  elif ((CURRENT == 3 && $#values)); then
    compadd -a values
  else
    _files
  fi
}
compdef _chaperone chaperone
`
}

export function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ name, summary, words, options }) => {
    const first = `__chaperone_has 2; and __fish_seen_subcommand_from ${name}`
    return [
      `complete -c chaperone -n '__chaperone_has 1' -f -a ${name} -d ${shellQuote(summary)}`,
      ...(words.length === 0 ? [] : [`complete -c chaperone -n '${first}' -f -a '${words.join(' ')}'`]),
      ...options.map((option) => fishOption(name, option)),
    ]
  })
  return `${FISH_WORDS}${lines.join('\n')}\n`
}

/**
 * Function of fish that tests the number of words before the cursor. An option `--data` before the command is not
 * counted.
 */
const FISH_WORDS = `function __chaperone_has
  set -l words (commandline -opc)
  if test "$words[2]" = --data
    set -e words[2]
    set -e words[2]
  else if string match -q -- '--data=*' "$words[2]"
    set -e words[2]
  end
  test (count $words) -eq $argv[1]
end
complete -c chaperone -n '__chaperone_has 1' -l data -r -d ${shellQuote(COMMON_OPTIONS['data']?.help ?? '')}
`

function fishOption(command: string, { name, short, help, hasValue }: CompletedOption): string {
  const brief = short === undefined ? '' : ` -s ${short}`
  const value = hasValue ? ' -r' : ''
  return `complete -c chaperone -n '__fish_seen_subcommand_from ${command}' -l ${name}${brief}${value} -d ${shellQuote(help)}`
}

function flags(options: readonly CompletedOption[]): readonly string[] {
  return options.flatMap(({ name, short }) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])])
}

function names(commands: readonly CompletedCommand[]): string {
  return commands.map(({ name }) => name).join(' ')
}
