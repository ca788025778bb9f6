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
  summary: 'Diagnose the installation, and print how to fix problems',
  usage: ['doctor'],
  details:
    'Checks the data folder, processes, certificate, database, gateway, manifests, credentials and the clients on PATH, and lists the\n' +
    'limits of run and run --capture.',
  options: {},
  examples: [
    ['chaperone doctor', 'check the installation; exit code 1 if there is a problem'],
    ['chaperone doctor --json | jq \'.checks[] | select(.state != "ok")\'', 'print findings for scripts'],
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

function checkLines({ name, state, found, remedy }: Check): string[] {
  return [`${MARKS[state]}  ${name}: ${found}`, ...(remedy === undefined ? [] : [`         -> ${remedy}`])]
}
