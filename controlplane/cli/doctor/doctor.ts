import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { type Check, guarded } from './check.ts'
import { clientChecks } from './clients.ts'
import { LIMITS, type Limit } from './limits.ts'
import { liveChecks } from './live-checks.ts'
import { localChecks } from './local-checks.ts'

const MARKS: Readonly<Record<Check['state'], string>> = {
  ok: 'ok     ',
  warning: 'warning',
  problem: 'PROBLEM',
}

export const doctor: Command = {
  name: 'doctor',
  summary: 'Looks at everything that can be wrong, and prints the line that mends it.',
  usage: ['doctor'],
  details:
    'Data folder, processes, certificate, database, gateway, manifests, credentials, and the clients on PATH.',
  options: {},
  examples: [
    ['chaperone doctor', 'exit code 0 without problems (warnings do not count), else 1'],
    ['chaperone doctor --json | jq \'.checks[] | select(.state != "ok")\'', 'for scripts'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const local = await localChecks(invocation.folder)
  const start = `chaperone up --data ${invocation.folder.root}`
  const isUp = local.every(({ name, state }) => name !== 'processes' || state === 'ok') && local.length > 1
  const live = isUp ? await guarded('control plane', start, () => liveChecks(invocation)) : []
  const checks = [...local, ...live, ...clientChecks(invocation.env)]
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify({ checks, limits: LIMITS }))
  else for (const line of [...checks.flatMap(checkLines), '', ...LIMITS.flatMap(limitLines)]) print(line)
  return checks.some(({ state }) => state === 'problem') ? EXIT.refused : EXIT.ok
}

function limitLines({ attacker, run: plain, captured }: Limit): string[] {
  return [`${attacker}`, `         run            ${plain}`, `         run --capture  ${captured}`]
}

function checkLines({ name, state, found, mend }: Check): string[] {
  return [`${MARKS[state]}  ${name}: ${found}`, ...(mend === undefined ? [] : [`         -> ${mend}`])]
}
