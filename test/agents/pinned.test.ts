import { dirname } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noNamespaces } from '../capture/network.ts'
import { npmPackages } from '../support/node-environment.ts'
import { IS_FULL } from '../support/proof.ts'
import { pythonEnvironment } from '../support/python-environment.ts'
import { expectCell } from './expect-cell.ts'
import { cellOf, MODES } from './mode.ts'
import type { AgentProgram } from './program.ts'
import { aiSdk } from './programs/ai-sdk.ts'
import { codex } from './programs/codex.ts'
import { openaiAgentsJs } from './programs/openai-agents-js.ts'
import { pydanticAi } from './programs/pydantic-ai.ts'
import { type Runs, startRuns } from './runs.ts'

/** The short form of the release check: four programs in fixed versions. `npm run test:agents` runs the newest of all. */
const PROGRAMS = [codex, pydanticAi, aiSdk, openaiAgentsJs]
const INSTALL: Readonly<Record<string, () => string>> = {
  codex: () => dirname(npmPackages('@openai/codex@0.171.0')),
  'ai-sdk': () => dirname(npmPackages('ai@6.0.326', '@ai-sdk/openai@3.0.141', 'zod@4.6.7')),
  'openai-agents-js': () => dirname(npmPackages('@openai/agents@0.20.0', 'zod@4.6.7')),
  'pydantic-ai': () =>
    dirname(dirname(pythonEnvironment('pydantic-ai-slim[openai]==2.68.0', 'openai==3.57.0').python)),
}
const SHORT = MODES.filter(({ heldSeconds = 0 }) => heldSeconds < 10)
/**
 * Each pair takes 4 s of CPU time. `npm test` runs each mode once, the first program plain and each program in one other mode,
 * which contains the calls of a plain run; the nightly run takes all pairs.
 */
const modesOf = (program: AgentProgram) => {
  const place = PROGRAMS.indexOf(program)
  return SHORT.filter((_, at) => IS_FULL || at === place + 1 || (at === 0 && place === 0))
}

const reason = noNamespaces()
const title = reason === null ? '' : ` (skipped: ${reason})`
const TIMEOUT = { timeout: 120_000 }

describe.skipIf(reason !== null)(`agent programs${title}`, () => {
  let runs: Runs
  beforeAll(() => {
    const orders = PROGRAMS.flatMap((program) => {
      const each = { programId: program.id, installed: INSTALL[program.id]?.() ?? '' }
      return modesOf(program).map(({ id }) => ({ ...each, modeId: id }))
    })
    runs = startRuns(orders)
    // The first run on a machine installs the packages.
  }, 600_000)
  afterAll(() => runs?.[Symbol.asyncDispose]())

  describe.each(PROGRAMS)('$name', (program) => {
    test.each(modesOf(program))('$title', TIMEOUT, async (mode) => {
      expectCell({ program, mode, facts: await runs.facts(cellOf(program, mode)) })
    })
  })

  test('every mode is run', () => {
    expect(new Set(PROGRAMS.flatMap(modesOf))).toEqual(new Set(SHORT))
  })

  test('nothing goes around the gateway', TIMEOUT, async () => {
    expect(await runs.end()).toMatchObject({ around: [], packetsAround: 0 })
  })
})
