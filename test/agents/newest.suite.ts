import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectCell } from './expect-cell.ts'
import { installNewest } from './install.ts'
import { cellOf, fits, MODES } from './mode.ts'
import { PROGRAMS } from './programs.ts'
import { type Runs, startRuns } from './runs.ts'
import { createTable } from './table.ts'

/** `CHAPERONE_AGENTS=codex,aider`: these programs alone. */
const wanted = process.env['CHAPERONE_AGENTS']?.split(',')
const programs = PROGRAMS.filter(({ id }) => wanted === undefined || wanted.includes(id))
const cells = programs.flatMap((program) =>
  MODES.filter((mode) => fits(program, mode)).map((mode) => ({ program, mode })),
)
const table = createTable(programs)
let runs: Runs

beforeAll(() => {
  const installed = new Map(programs.map((program) => [program.id, installNewest(program)]))
  runs = startRuns(
    cells.map(({ program, mode }) => ({
      ...{ programId: program.id, modeId: mode.id, installed: installed.get(program.id) ?? '' },
    })),
  )
})
afterAll(async () => {
  await runs?.[Symbol.asyncDispose]()
  console.log(table.text())
})

describe.each(programs)('$name', (program) => {
  test.each(MODES.filter((mode) => fits(program, mode)))('$title', async (mode) => {
    const facts = await runs.facts(cellOf(program, mode))
    table.note({ program, mode, text: 'failed' })
    expectCell({ program, mode, facts })
    table.note({ program, mode, text: `ok ${facts.seconds.toFixed(1)} s` })
  })
})

test('nothing went around the gateway', async () => {
  expect(await runs.end()).toMatchObject({ around: [], packetsAround: 0 })
})
