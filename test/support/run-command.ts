import { join } from 'node:path'
import { Readable } from 'node:stream'
import { runCli } from '../../controlplane/cli/cli.ts'

export type CommandResult = { readonly code: number; readonly stdout: string; readonly stderr: string }
export type CommandOptions = { readonly env?: Readonly<Record<string, string>>; readonly input?: string }

/**
 * Runs one command of the command line tool in the process of the test, with the data folder `data`. A process for each
 * command takes 0.3 s of CPU time, ten times as much. A command that reads standard input must not run beside another one.
 */
export async function runCommand(
  data: string,
  args: readonly string[],
  { env, input }: CommandOptions = {},
): Promise<CommandResult> {
  const written = { stdout: '', stderr: '' }
  const to = (stream: keyof typeof written) => (line: string) => {
    written[stream] += `${line}\n`
  }
  const [command = '', ...rest] = args
  using _input = replaceInput(input ?? '')
  const code = await runCli([command, '--data', data, ...rest], {
    env: commandEnv(data, env),
    cwd: process.cwd(),
    terminal: { print: to('stdout'), warn: to('stderr'), isInteractive: false },
  })
  return { code, ...written }
}

/** Environment of a command. The state folder is in the test's folder, so that the state folder of the user stays as it is. */
export function commandEnv(data: string, env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return { ...process.env, XDG_STATE_HOME: join(data, '..', 'state'), ...env }
}

function replaceInput(text: string): Disposable {
  const before = Object.getOwnPropertyDescriptor(process, 'stdin')
  Object.defineProperty(process, 'stdin', { configurable: true, value: Readable.from([Buffer.from(text)]) })
  return {
    [Symbol.dispose]: () => {
      if (before !== undefined) Object.defineProperty(process, 'stdin', before)
    },
  }
}
