import { COMMON_OPTIONS, type Command, type OptionSpec } from './command.ts'

/** Returns the text of `chaperone COMMAND --help`. */
export function commandHelp(command: Command): string {
  const options = Object.entries({ ...command.options, ...COMMON_OPTIONS }).map(optionLine)
  const examples = command.examples.flatMap(([line, meaning]) => [`  ${line}`, `      ${meaning}`])
  return [
    command.summary,
    '',
    ...command.usage.map((usage, index) => `${index === 0 ? 'Usage:' : '      '} chaperone ${usage}`),
    ...(command.details === undefined ? [] : ['', command.details]),
    '',
    'Options:',
    ...aligned(options),
    ...(examples.length === 0 ? [] : ['', 'Examples:', ...examples]),
  ].join('\n')
}

/**
 * Returns the text of `chaperone --help`.
 *
 * @param command Command line that runs this program in the working directory.
 */
export function overview(
  commands: readonly { readonly name: string; readonly summary: string }[],
  command: string,
): string {
  return [
    'Chaperone governs what AI agents may do to the outside world.',
    '',
    'Usage: chaperone COMMAND [options]',
    '',
    'Commands:',
    ...aligned(commands.map(({ name, summary }) => [name, summary] as const)),
    '',
    'First steps:',
    '  chaperone up                                   start everything on this machine',
    '  chaperone run -- python agent.py               start an agent behind the gateway',
    '  chaperone explain DELETE https://api.github.com/repos/acme/site',
    '                                                 show the decision for a request, and why',
    '',
    'Exit codes: 0 success, 1 refused or a failed check, 2 wrong usage, 3 unreachable,',
    '4 a kill switch scope that nothing matches; the kill switch is active all the same.',
    'chaperone COMMAND --help explains one command with examples; chaperone --version prints the version.',
    ...(command === 'chaperone'
      ? []
      : [`In this checkout, run ${command} for chaperone; npm link adds chaperone to your PATH.`]),
  ].join('\n')
}

function optionLine([name, spec]: [string, OptionSpec]): readonly [string, string] {
  const short = spec.short === undefined ? '' : `-${spec.short}, `
  const value = spec.type === 'string' ? ` ${spec.value ?? 'VALUE'}` : ''
  return [`${short}--${name}${value}`, spec.help + (spec.multiple === true ? ' (may be repeated)' : '')]
}

function aligned(rows: ReadonlyArray<readonly [string, string]>): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
