import { shellQuote } from './try-command.ts'

/** `--data DIR` behind a blank. Empty for null: commands of the same working directory find the folder by themselves. */
export function dataOption(named: string | null): string {
  return named === null ? '' : ` --data ${shellQuote(named)}`
}

/**
 * Lines to paste in another terminal.
 *
 * @param named The data folder that `--data` or CHAPERONE_DATA named: without it a command would use another installation.
 */
export function nextSteps(command: string, named: string | null): readonly string[] {
  const data = dataOption(named)
  const steps = [
    [`run${data} -- claude`, 'start an agent behind the gateway: codex, gemini, python agent.py, …'],
    [`traffic${data} -f`, 'what agents do, as they do it'],
    [`approvals ls${data}`, 'what waits for a person'],
    [`doctor${data}`, 'what is missing, and the line that mends it'],
  ] as const
  const width = Math.max(...steps.map(([line]) => line.length))
  return steps.map(([line, meaning]) => `${command} ${line.padEnd(width)}    ${meaning}`)
}
