import { copyFileSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cliProgram } from '../../support/cli-program.ts'
import { leaveMark, newestRecords, recordsBetween } from '../../support/gateway-records.ts'
import type { Facts, TrafficRow } from '../facts.ts'
import { cellOf, type Mode } from '../mode.ts'
import type { AgentProgram, Place } from '../program.ts'
import { runCommand } from './run-command.ts'
import type { World } from './world.ts'

const CLI = cliProgram()
const SCRIPTS = new URL('../scripts/', import.meta.url).pathname

/** In every variable that holds a key of the agent; must never arrive upstream. */
const OWN_KEY = 'own-key-of-the-agent'
const KEY_VARIABLES = [
  'ANTHROPIC_API_KEY',
  'GEMINI_API_KEY',
  'GITHUB_PERSONAL_ACCESS_TOKEN',
  'GITHUB_TOKEN',
  'GOOGLE_API_KEY',
  'OPENAI_API_KEY',
]

type Cell = { readonly program: AgentProgram; readonly mode: Mode; readonly installed: string }

/** Runs one program in one mode as an agent of its own. */
export async function runCell(world: World, { program, mode, installed }: Cell): Promise<Facts> {
  const { laptop, approver, standIn, trap } = world
  const cell = cellOf(program, mode)
  const created = await laptop.api('POST', '/api/dashboard/agents', {
    name: cell,
    runtime: 'test',
    environment: 'test',
  })
  if (created.status >= 300) throw new Error(`agent ${cell}: ${JSON.stringify(created.body)}`)
  if (mode.heldSeconds !== undefined) approver.approveAfter(cell, mode.heldSeconds)
  const place = makePlace({ cell, installed, root: world.root })
  writeFiles(place, program)
  const capture = mode.isCaptured === true ? ['--capture'] : []
  const own = ['run', '--data', laptop.data, '--agent', cell, ...capture, '--']
  const ran = await runCommand([process.execPath, CLI, ...own, ...program.command(place)], {
    env: { ...environment(place), ...program.env?.(place), XDG_STATE_HOME: join(laptop.data, '../state') },
    cwd: place.home,
    timeoutMs: 240_000,
  })
  const activity = standIn.activity(cell)
  const key = String(created.body['api_key'])
  return {
    ...ran,
    output: ran.output.slice(-6_000),
    upstream: { ...activity, offered: [...activity.offered] },
    asked: approver.asked(cell),
    records: await recordsOf(world, cell),
    ownKeys: standIn.requestsWith([`${OWN_KEY}-${cell}-end`, key]),
    around: trap.around
      .filter((each) => each.cell === cell)
      .map(({ host, program: by }) => `${host} by ${by}`),
  }
}

function makePlace({ cell, installed, root }: { cell: string; installed: string; root: string }): Place {
  const home = join(root, cell)
  mkdirSync(home)
  for (const name of readdirSync(SCRIPTS)) copyFileSync(join(SCRIPTS, name), join(home, name))
  const modules = join(installed, 'node_modules')
  if (existsSync(modules)) symlinkSync(modules, join(home, 'node_modules'))
  return { cell, installed, home, prompt: `Create an issue, then say that it is done. cell:${cell}` }
}

function writeFiles(place: Place, program: AgentProgram): void {
  for (const [path, text] of Object.entries(program.files?.(place) ?? {})) {
    mkdirSync(dirname(join(place.home, path)), { recursive: true })
    writeFileSync(join(place.home, path), text)
  }
}

/** Nothing of the test's own: what a program does must not depend on it. */
function environment({ cell, home, prompt }: Place): Readonly<Record<string, string>> {
  const keys = KEY_VARIABLES.map((name) => [name, `${OWN_KEY}-${cell}-end`])
  return {
    ...{ PATH: process.env['PATH'] ?? '', HOME: home, LANG: 'C.UTF-8', TERM: 'dumb' },
    ...{ CELL: cell, PROMPT: prompt, PYTHONDONTWRITEBYTECODE: '1' },
    ...Object.fromEntries(keys),
  }
}

async function recordsOf({ laptop }: World, agent: string): Promise<readonly TrafficRow[]> {
  // Records are written in order: once this one is there, those of the cell are.
  const mark = await leaveMark(laptop)
  await recordsBetween(laptop, [mark])
  const records = (await newestRecords(laptop)).filter((record) => record.agent === agent)
  return records.map(({ action_type, decision, status, note, host, path }) => ({
    ...{ action_type, decision, status, note, host, path },
  }))
}
