import { shellQuote } from '../terminal/shell-quote.ts'

/**
 * Returns the option ` --data DIR` for a printed command line. When `named` is null, returns an empty text, because a
 * command in the same working directory finds the data folder without the option.
 */
export function dataOption(named: string | null): string {
  return named === null ? '' : ` --data ${shellQuote(named)}`
}

/**
 * Returns command lines that the user can run in another terminal.
 *
 * @param named The data folder given by `--data` or CHAPERONE_DATA. The printed command lines contain this folder,
 * because commands without it would use another installation.
 */
export function nextSteps(command: string, named: string | null): readonly string[] {
  const data = dataOption(named)
  const steps = [
    [`run${data} -- claude`, 'start an agent behind the gateway: codex, gemini, python agent.py, …'],
    [`traffic${data} -f`, 'follow the requests of agents'],
    [`approvals ls${data}`, 'list pending approvals'],
    [`doctor${data}`, 'find problems and how to fix them'],
  ] as const
  const width = Math.max(...steps.map(([line]) => line.length))
  return steps.map(([line, meaning]) => `${command} ${line.padEnd(width)}    ${meaning}`)
}
