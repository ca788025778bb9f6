import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ChaperoneError } from '../../../core/errors.ts'
import { EXIT } from '../command.ts'
import type { Check } from '../doctor/check.ts'
import { NODE_OPTIONS } from '../programs/node-options.ts'
import { printable } from '../terminal/table.ts'
import { breakGlass, breakGlassText } from './break-glass.ts'
import { type Connection, openConnection } from './connection.ts'
import { createKubectl, type Kubectl } from './kubectl.ts'
import { renewOwnerLink } from './owner-link-secret.ts'
import { podChecks } from './pod-checks.ts'
import { podFacts } from './pod-facts.ts'

const HELP = `kubectl chaperone COMMAND

  status                         control plane, what is stopped, what waits; every Gateway
  kill on|off|status             stop agents at once, all or some: --scope, --reason
  approvals ls|approve|deny ID   requests that wait for a person
  explain METHOD URL             what would happen to a request, and why: --agent NAMESPACE/NAME
  traffic, get, agent, policy,
  export                         as in: chaperone COMMAND --help
  doctor POD [-n NAMESPACE]      is it governed, by what, what is outdated, which client fails and why
  owner-link                     a new link with which the first owner registers, valid for an hour and once
  break-glass --for 1h           opens the owner's token for a time, for emergencies; --for 0 closes it
  inject -f FILE                 a pod as the injector would make it, or what is in the way

  --context, --kubeconfig        as kubectl has them
  --system-namespace NAME        where the chart is installed (default chaperone-system)
`

/** These need no control plane: they are about the files or the pods alone. */
const OFFLINE = ['inject', 'catalogue']
/** These ask or tell the control plane. */
const ONLINE = ['status', 'kill', 'approvals', 'explain', 'traffic', 'get', 'agent', 'policy', 'export']

/** The plugin of kubectl: the same command line, on the installation of a cluster. Resolves to the exit code. */
async function main(argv: readonly string[]): Promise<number> {
  const { globals, system, namespace, json, rest } = split(argv)
  const [command, ...args] = rest
  if (command === undefined || command === 'help' || command === '--help' || command === '-h') {
    process.stdout.write(HELP)
    return EXIT.ok
  }
  const kubectl = createKubectl(globals, process.env)
  const given = json ? [...args, '--json'] : args
  if (OFFLINE.includes(command)) return await chaperone([command, ...namespace, ...given], {})
  if (command === 'doctor') return await doctor(kubectl, { name: args[0], namespace, system, json })
  if (command === 'owner-link') return await ownerLink(kubectl, system, json)
  if (command === 'break-glass') return await openToken(kubectl, { system, args, json })
  if (!ONLINE.includes(command)) throw unknown(command)
  await using connection = await openConnection(kubectl, system)
  const code = await chaperone([command, ...given], connection.env)
  if (command === 'status' && !json) process.stdout.write(await gatewaysOf(kubectl, namespace))
  return code
}

async function ownerLink(kubectl: Kubectl, system: string, json: boolean): Promise<number> {
  const link = await renewOwnerLink(kubectl, system)
  const text = `${link}\nThe first person who opens it within an hour becomes the owner. Once there is an owner, it is void.`
  process.stdout.write(`${json ? JSON.stringify({ owner_link: link }) : text}\n`)
  return EXIT.ok
}

async function openToken(
  kubectl: Kubectl,
  given: { readonly system: string; readonly args: readonly string[]; readonly json: boolean },
): Promise<number> {
  const until = await breakGlass(kubectl, given.system, given.args)
  const text = given.json ? JSON.stringify({ open_until: until }) : breakGlassText(until, given.system)
  process.stdout.write(`${text}\n`)
  return EXIT.ok
}

function unknown(command: string): ChaperoneError {
  const detail = `there is no command ${printable(command)}; kubectl chaperone help lists them`
  return new ChaperoneError('validation', { detail })
}

type Split = {
  readonly globals: readonly string[]
  readonly system: string
  readonly namespace: readonly string[]
  readonly json: boolean
  readonly rest: readonly string[]
}

/** Takes kubectl's own flags out; all others are the command's. */
function split(argv: readonly string[]): Split {
  const { tokens } = parseArgs({
    args: [...argv],
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: VALUES,
  })
  const own = new Map<string, string>()
  const taken = new Set<number>()
  for (const token of tokens) {
    if (token.kind !== 'option' || !(token.name in VALUES) || typeof token.value !== 'string') continue
    own.set(token.name, token.value)
    taken.add(token.index)
    if (!token.inlineValue) taken.add(token.index + 1)
  }
  const rest = argv.filter((word, index) => !taken.has(index) && word !== '--json')
  const flags = (...names: readonly string[]) =>
    names.flatMap((name) => (own.has(name) ? [`--${name}`, own.get(name) ?? ''] : []))
  return {
    globals: flags('context', 'kubeconfig'),
    system: own.get('system-namespace') ?? process.env['CHAPERONE_NAMESPACE'] ?? 'chaperone-system',
    namespace: flags('namespace'),
    json: argv.includes('--json'),
    rest,
  }
}

const VALUES = {
  context: { type: 'string' },
  kubeconfig: { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  'system-namespace': { type: 'string' },
} as const

/** In a process of its own: what Node trusts is read when it starts. */
async function chaperone(args: readonly string[], env: Partial<Connection['env']>): Promise<number> {
  const child = spawn(process.execPath, [...NODE_OPTIONS, programFile(), ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  })
  return await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

/** The command line: its bundle beside ours, else its source. */
function programFile(): string {
  const bundle = fileURLToPath(new URL('./cli.js', import.meta.url))
  return existsSync(bundle) ? bundle : fileURLToPath(new URL('../main.ts', import.meta.url))
}

/** Of all namespaces, else of the one that is given or that the context names: as far as the user may list them. */
async function gatewaysOf(kubectl: Kubectl, namespace: readonly string[]): Promise<string> {
  const table = (await listed(kubectl, ['--all-namespaces'])) ?? (await listed(kubectl, namespace)) ?? ''
  return table === '' ? '' : `\n${table}`
}

/** Null for a user who may not list the Gateways. */
async function listed(kubectl: Kubectl, where: readonly string[]): Promise<string | null> {
  try {
    return await kubectl.run('get', 'gateways.chaperone.dev', ...where)
  } catch (error) {
    if (error instanceof ChaperoneError && /forbidden/i.test(error.message)) return null
    throw error
  }
}

const MARKS: Readonly<Record<Check['state'], string>> = {
  ok: 'ok     ',
  warning: 'warning',
  problem: 'PROBLEM',
}

async function doctor(
  kubectl: Kubectl,
  asked: {
    readonly name: string | undefined
    readonly namespace: readonly string[]
    readonly system: string
    readonly json: boolean
  },
): Promise<number> {
  const { name } = asked
  if (name === undefined)
    throw new ChaperoneError('validation', {
      detail: 'Which pod? kubectl chaperone doctor POD [-n NAMESPACE]',
    })
  const facts = await podFacts(kubectl, { ...asked, name: name.replace(/^pods?\//, '') })
  if (facts === null)
    throw new ChaperoneError('not_found', {
      detail: `there is no pod ${name} in this namespace: name another with -n`,
    })
  const checks = podChecks(facts)
  const lines = checks.flatMap(({ state, name: what, found, mend }) => [
    `${MARKS[state]}  ${what}: ${found}`,
    ...(mend === undefined ? [] : [`         -> ${mend}`]),
  ])
  process.stdout.write(`${asked.json ? JSON.stringify({ checks }) : lines.map(printable).join('\n')}\n`)
  return checks.some(({ state }) => state === 'problem') ? EXIT.refused : EXIT.ok
}

function exitOf(error: unknown): number {
  const code = error instanceof ChaperoneError ? error.code : null
  if (code === 'not_ready') return EXIT.unreachable
  return code === 'validation' ? EXIT.usage : EXIT.refused
}

// Node opens its inspector on SIGUSR1: other programs of the user could read the cluster's credentials.
process.on('SIGUSR1', () => undefined)
main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    process.stderr.write(`kubectl chaperone: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = exitOf(error)
  },
)
