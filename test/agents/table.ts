import { table as alignedTable } from '../../controlplane/cli/terminal/table.ts'
import { cellOf, fits, MODES, type Mode } from './mode.ts'
import type { AgentProgram } from './program.ts'

/** The table of the release check: a row for each program, a column for each mode. */
export function createTable(programs: readonly AgentProgram[]) {
  const texts = new Map<string, string>()
  const textOf = (program: AgentProgram, mode: Mode) =>
    fits(program, mode) ? (texts.get(cellOf(program, mode)) ?? 'not run') : '-'
  return {
    note: ({ program, mode, text }: { program: AgentProgram; mode: Mode; text: string }) =>
      void texts.set(cellOf(program, mode), text),
    text: (): string =>
      alignedTable(
        ['PROGRAM', ...MODES.map(({ title }) => title.toUpperCase())],
        programs.map((program) => [program.name, ...MODES.map((mode) => textOf(program, mode))]),
      ).join('\n'),
  }
}
