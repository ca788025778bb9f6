import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installNewest } from './install.ts'
import { spawnInNamespace } from './namespace.ts'
import { claudeCode } from './programs/claude-code.ts'
import { codex } from './programs/codex.ts'
import { langgraphPy } from './programs/langgraph-py.ts'
import { quickstartCommands, readmeCommands } from './walk/documents.ts'
import type { Step, WalkOrder, WalkOutcome } from './walk/order.ts'

/**
 * A newcomer with a clone of the last commit, an empty home folder and an empty npm cache, who types the commands of the README
 * and then those of the quickstarts. The agent programs are installed before, and a stand-in has the place of the providers.
 */
const ROOT = join(import.meta.dirname, '../..')
const INSIDE = join(import.meta.dirname, 'walk/inside.ts')
const SCRIPTS = join(import.meta.dirname, 'scripts')

let folder: string
let outcome: WalkOutcome
const before: Step[] = []
const readme = readmeCommands(ROOT)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chaperone-walk-'))
  const [clone, home] = [join(folder, 'chaperone'), join(folder, 'home')]
  mkdirSync(home)
  const programs = installPrograms(join(folder, 'programs'))
  timed(`git clone ${ROOT}`, ['git', 'clone', '--quiet', ROOT, clone], folder)
  // `npm start` begins with this script, the only part that needs a registry: the namespace has none.
  timed('npm start: packages', ['sh', 'scripts/install.sh'], clone)
  for (const name of ['langgraph_agent.py', 'create_issue.py'])
    copyFileSync(join(SCRIPTS, name), join(clone, name === 'langgraph_agent.py' ? 'graph.py' : name))
  outcome = await walk({ clone, home, programs, commands: [...readme, ...quickstartCommands(ROOT)] })
  console.log(report([...before, ...outcome.steps], before.length + readme.length))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the commands of the README lead to a governed call of Claude Code', () => {
  const last = outcome.steps[readme.length - 1]
  expect(last?.command).toBe('./scripts/chaperone.sh run -- claude')
  expect(last?.output).toContain('finished newcomer')
  expect(outcome.traffic).toMatch(/llm_b\.message\.create/)
})

test('every command of the README and of the quickstarts does its work', () => {
  // `explain` ends with 1 where the request needs an approval.
  const failed = outcome.steps.filter(
    ({ command, exitCode }) => exitCode > (command.includes(' explain ') ? 1 : 0),
  )
  expect(failed.map(({ command, output }) => `${command}: ${output}`)).toEqual([])
})

test.each(['claude', 'codex', 'graph.py'])('the quickstart of %s ends with a governed call', (program) => {
  const ran = outcome.steps.filter(({ command }) => command.endsWith(program)).at(-1)
  expect(ran?.output).toContain('finished newcomer')
})

test('no agent program goes around the gateway', () => {
  expect(outcome.around).toEqual([])
})

/** Returns the folders for PATH, with `claude`, `codex`, and `python` with LangGraph. */
function installPrograms(bin: string): readonly string[] {
  mkdirSync(bin)
  const [python] = langgraphPy.command({
    installed: installNewest(langgraphPy),
    home: '',
    prompt: '',
    cell: '',
  })
  const [claude] = claudeCode.command({
    installed: installNewest(claudeCode),
    home: '',
    prompt: '',
    cell: '',
  })
  const [codexProgram] = codex.command({ installed: installNewest(codex), home: '', prompt: '', cell: '' })
  symlinkSync(claude ?? '', join(bin, 'claude'))
  symlinkSync(codexProgram ?? '', join(bin, 'codex'))
  return [bin, join(python ?? '', '..')]
}

function timed(command: string, [program = '', ...args]: readonly string[], cwd: string): void {
  const began = performance.now()
  const env = { ...process.env, npm_config_cache: join(folder, 'npm-cache') }
  execFileSync(program, args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] })
  before.push({ command, exitCode: 0, seconds: (performance.now() - began) / 1_000, output: '' })
}

async function walk(order: WalkOrder): Promise<WalkOutcome> {
  const child = spawnInNamespace([process.execPath, INSIDE])
  let text = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    text += String(chunk)
  })
  // Stays open for as long as the walk is wanted.
  child.stdin?.write(`${JSON.stringify(order)}\n`)
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (text === '') throw new Error(`the walk ended with code ${code} and without an outcome`)
  return JSON.parse(text) as WalkOutcome
}

/** One line for each command, and the time from the clone to the first governed call. */
function report(steps: readonly Step[], first: number): string {
  const sum = steps.slice(0, first).reduce((total, { seconds }) => total + seconds, 0)
  const lines = steps.map(({ seconds, command }) => `${seconds.toFixed(1).padStart(7)} s  ${command}`)
  return [
    ...lines.slice(0, first),
    `${sum.toFixed(1).padStart(7)} s  from the clone to the first governed call`,
    ...lines.slice(first),
  ].join('\n')
}
