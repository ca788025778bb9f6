import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { startTrap } from '../inside/trap.ts'
import { behindStandIn } from '../manifests.ts'
import { startStandIn } from '../stand-in/stand-in.ts'
import type { Step, WalkOrder, WalkOutcome } from './order.ts'
import { unattended } from './unattended.ts'

/** Runs a walk inside of the namespace: reads the order from standard input, and prints the outcome as one line of JSON. */
const CELL = 'newcomer'
const input = createInterface({ input: process.stdin })
const [line] = (await once(input, 'line')) as [string]
input.once('close', () => process.exit(1))
const order = JSON.parse(line) as WalkOrder
const trap = await startTrap()
const standIn = await startStandIn()
const [start = '', ...commands] = order.commands
const environment = newcomer(order)
const began = performance.now()
const installation = spawn('sh', ['-c', start], {
  cwd: order.clone,
  env: environment,
  stdio: ['ignore', 'pipe', 'pipe'],
})
const welcome = await untilReady(installation)
const steps: Step[] = [{ command: start, exitCode: 0, seconds: since(began), output: welcome }]
connectStandIn(welcome)
for (const command of commands) steps.push(await run(command))
const { output: traffic } = await run('./scripts/chaperone.sh traffic')
const { modelCalls, issues } = standIn.activity(CELL)
// The gateway and the control plane are no agents: their processes have no cell.
const around = trap.around.filter(({ cell }) => cell === CELL)
const outcome: WalkOutcome = { steps, around, modelCalls, issues, traffic }
process.stdout.write(`${JSON.stringify(outcome)}\n`)
installation.kill('SIGTERM')
await once(installation, 'exit')
process.exit(0)

function newcomer({ clone, home, programs }: WalkOrder): NodeJS.ProcessEnv {
  const bin = join(home, 'bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(join(clone, 'scripts/chaperone.sh'), join(bin, 'chaperone'))
  const PATH = [bin, ...programs, process.env['PATH'] ?? ''].join(delimiter)
  return { PATH, HOME: home, LANG: 'C.UTF-8', TERM: 'dumb' }
}

/** Resolves with the welcome text of `npm start`. */
async function untilReady(child: ChildProcess): Promise<string> {
  let text = ''
  const ready = Promise.withResolvers<string>()
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      text += String(chunk)
      if (text.includes('Stop with Ctrl-C.')) ready.resolve(text)
    })
  child.once('exit', (code) => ready.reject(new Error(`${start} ended with ${code}: ${text}`)))
  return ready.promise
}

/** Puts the stand-in behind the Connectors of the starter set, as the only difference from the providers. */
function connectStandIn(text: string): void {
  const folder = /^ {2}Manifests +(\S+)/m.exec(text)?.[1] ?? ''
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.yaml'))) {
    const file = join(folder, name)
    writeFileSync(file, behindStandIn(readFileSync(file, 'utf8'), standIn))
  }
}

async function run(written: string): Promise<Step> {
  const { command, input: secret } = unattended(written)
  const since0 = performance.now()
  const own = {
    ...{ CELL, PROMPT: `Create an issue, then say that it is done. cell:${CELL}`, GITHUB_TOKEN: 'own-key' },
    // Claude Code skips its own questions as root only where it believes to be in a container; `codex exec` needs a key.
    ...{ IS_SANDBOX: '1', CODEX_API_KEY: 'sk-chaperone-placeholder' },
  }
  const child = spawn('sh', ['-c', command], {
    cwd: order.clone,
    env: { ...environment, ...own },
    stdio: 'pipe',
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += String(chunk)
    })
  child.stdin.on('error', () => undefined)
  child.stdin.end(secret)
  const [exitCode] = (await once(child, 'close')) as [number | null]
  return { command: written, exitCode: exitCode ?? 137, seconds: since(since0), output: output.slice(-6_000) }
}

function since(from: number): number {
  return (performance.now() - from) / 1_000
}
