import { usageError } from '../arguments.ts'
import { type Command, EXIT, type Invocation } from '../command.ts'
import { type CompletedCommand, completedCommand } from './completed-command.ts'
import { bashScript, fishScript, zshScript } from './shell-scripts.ts'

const SHELLS: ReadonlyMap<string, (commands: readonly CompletedCommand[]) => string> = new Map([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
])

type Commands = ReadonlyMap<string, () => Promise<Command>>

/**
 * Creates the command `completion`.
 *
 * @param commands Returns the table of all commands, including the command `completion` itself.
 */
export function createCompletion(commands: () => Commands): Command {
  return {
    name: 'completion',
    summary: 'Print the completion script of a shell',
    usage: ['completion bash|zsh|fish'],
    details: 'Completes commands, their first argument and their options. Print it again after an upgrade.',
    maxArguments: 1,
    options: {},
    examples: [
      [
        'source <(chaperone completion bash)',
        'complete commands in this shell; add the line to ~/.bashrc for every shell',
      ],
      ['source <(chaperone completion zsh)', 'the same for zsh, in ~/.zshrc below compinit'],
      ['chaperone completion fish > ~/.config/fish/completions/chaperone.fish', 'complete in fish'],
    ],
    run: (invocation) => run(invocation, commands()),
  }
}

async function run({ positionals: [shell], terminal }: Invocation, table: Commands): Promise<number> {
  const known = [...SHELLS.keys()].join(', ')
  if (shell === undefined) throw usageError({ name: 'completion' }, `Give the shell: ${known}.`)
  const script = SHELLS.get(shell)
  if (script === undefined) throw usageError({ name: 'completion' }, `${shell} is not one of ${known}.`)
  const commands = await Promise.all([...table.values()].map((load) => load()))
  terminal.print(script(commands.map(completedCommand)).trimEnd())
  return EXIT.ok
}
