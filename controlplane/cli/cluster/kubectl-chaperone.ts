import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ChaperoneError } from '../../../core/errors.ts'
import { EXIT } from '../command.ts'
import type { Check } from '../doctor/check.ts'
import { rotatedLine } from '../keys/rotate-keys.ts'
import { NODE_OPTIONS } from '../programs/node-options.ts'
import { printable } from '../terminal/table.ts'
import { breakGlass, breakGlassText } from './break-glass.ts'
import { clusterKeyStatus, rotateClusterKey } from './cluster-keys.ts'
import { type Connection, openConnection } from './connection.ts'
import { createKubectl, type Kubectl } from './kubectl.ts'
import { renewOwnerLink } from './owner-link-secret.ts'
import { podChecks } from './pod-checks.ts'
import { podFacts } from './pod-facts.ts'

const HELP = `kubectl chaperone COMMAND

  status                         show the control plane, kill switches, approvals and every Gateway
  kill on|off|status             activate or lift the kill switch: --scope, --reason
  approvals ls|approve|deny ID   list pending approvals, and approve or deny them
  explain METHOD URL             show the decision for a request, and why: --agent NAMESPACE/NAME
  traffic, get, agent, policy,
  export                         see chaperone COMMAND --help
  doctor POD [-n NAMESPACE]      diagnose a pod: whether it is governed, its Gateway, sidecar and clients
  owner-link                     create a link with which the first owner registers; valid once, within an hour
  keys status|rotate             show the master key by its id, or replace it
  break-glass --for 1h           make the owner's token valid for a time, in an emergency; --for 0 ends this
  inject -f FILE                 print a pod as the injector would change it, or every conflicting field
  migrate FILE|DIR               replace outdated fields in manifests: --check, --stdout

  --context, --kubeconfig        options of kubectl
  --system-namespace NAME        namespace of the chart (default chaperone-system)
`

/** Commands that run without a connection to a control plane. */
const OFFLINE = ['inject', 'migrate', 'catalogue']
/** Commands that call the control plane. */
const ONLINE = ['status', 'kill', 'approvals', 'explain', 'traffic', 'get', 'agent', 'policy', 'export']

/**
 * Runs the kubectl plugin, which executes a command against the installation of a cluster. Resolves with the exit
 * code.
 */
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
  const onSecret = SECRET_COMMANDS[command]
  if (onSecret !== undefined) return await onSecret(kubectl, { system, args, json })
  if (!ONLINE.includes(command)) throw unknown(command)
  await using connection = await openConnection(kubectl, system)
  const code = await chaperone([command, ...given], connection.env)
  if (command === 'status' && !json) process.stdout.write(await gatewaysOf(kubectl, namespace))
  return code
}

type SecretCommand = (
  kubectl: Kubectl,
  given: { readonly system: string; readonly args: readonly string[]; readonly json: boolean },
) => Promise<number>

/** Commands that read and change Secrets of the installation. */
const SECRET_COMMANDS: Readonly<Record<string, SecretCommand | undefined>> = {
  'owner-link': ownerLink,
  'break-glass': openToken,
  keys: masterKey,
}

async function ownerLink(kubectl: Kubectl, { system, json }: Parameters<SecretCommand>[1]): Promise<number> {
  const link = await renewOwnerLink(kubectl, system)
  const text = `${link}\nThe first user who opens this link within an hour becomes the owner. Once there is an owner, the link is invalid.`
  process.stdout.write(`${json ? JSON.stringify({ owner_link: link }) : text}\n`)
  return EXIT.ok
}

async function openToken(kubectl: Kubectl, given: Parameters<SecretCommand>[1]): Promise<number> {
  const until = await breakGlass(kubectl, given.system, given.args)
  const text = given.json ? JSON.stringify({ open_until: until }) : breakGlassText(until, given.system)
  process.stdout.write(`${text}\n`)
  return EXIT.ok
}

async function masterKey(
  kubectl: Kubectl,
  { system, args, json }: Parameters<SecretCommand>[1],
): Promise<number> {
  const [verb = 'status'] = args
  const write = (text: string) => void process.stdout.write(`${text}\n`)
  if (verb === 'status') write((await clusterKeyStatus(kubectl, system, json)).trim())
  else if (verb !== 'rotate') throw unknown(`keys ${verb}`)
  else {
    const rotated = await rotateClusterKey(kubectl, system, { print: json ? () => undefined : write })
    write(json ? JSON.stringify(rotated) : rotatedLine(rotated, `Secret ${system}/chaperone-keys`))
  }
  return EXIT.ok
}

function unknown(command: string): ChaperoneError {
  const detail = `${printable(command)} is not a command. See: kubectl chaperone help`
  return new ChaperoneError('validation', { detail })
}

type Split = {
  readonly globals: readonly string[]
  readonly system: string
  readonly namespace: readonly string[]
  readonly json: boolean
  readonly rest: readonly string[]
}

/** Separates the flags of kubectl from the arguments of the command. */
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

/** Runs a command in a child process, because Node reads NODE_EXTRA_CA_CERTS only when it starts. */
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

/** Returns the entry file of the command line tool: the released bundle if it exists, otherwise the source. */
function programFile(): string {
  const bundle = fileURLToPath(new URL('./cli.js', import.meta.url))
  return existsSync(bundle) ? bundle : fileURLToPath(new URL('../main.ts', import.meta.url))
}

/**
 * Returns a table of the Gateways of all namespaces. For a user without the right to list all Gateways, the table has
 * the Gateways of the given namespace, or of the namespace of the current context.
 */
async function gatewaysOf(kubectl: Kubectl, namespace: readonly string[]): Promise<string> {
  const table = (await listed(kubectl, ['--all-namespaces'])) ?? (await listed(kubectl, namespace)) ?? ''
  return table === '' ? '' : `\n${table}`
}

/** Returns the output of `kubectl get` for Gateways; null when the user lacks the right to list Gateways. */
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
      detail: 'Give the pod: kubectl chaperone doctor POD [-n NAMESPACE]',
    })
  const facts = await podFacts(kubectl, { ...asked, name: name.replace(/^pods?\//, '') })
  if (facts === null)
    throw new ChaperoneError('not_found', {
      detail: `There is no pod ${name} in this namespace. Give another namespace with -n.`,
    })
  const checks = podChecks(facts)
  const lines = checks.flatMap(({ state, name: what, found, remedy }) => [
    `${MARKS[state]}  ${what}: ${found}`,
    ...(remedy === undefined ? [] : [`         -> ${remedy}`]),
  ])
  process.stdout.write(`${asked.json ? JSON.stringify({ checks }) : lines.map(printable).join('\n')}\n`)
  return checks.some(({ state }) => state === 'problem') ? EXIT.refused : EXIT.ok
}

function exitOf(error: unknown): number {
  const code = error instanceof ChaperoneError ? error.code : null
  if (code === 'not_ready') return EXIT.unreachable
  return code === 'validation' ? EXIT.usage : EXIT.refused
}

// By default Node opens its inspector on SIGUSR1, which would let other programs of the user read the cluster's
// credentials.
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
