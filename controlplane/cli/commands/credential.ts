import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ConnectorList } from '../../../core/wire/connectors.ts'
import type {
  ChangeCredentialReply,
  CredentialList,
  TestCredentialReply,
} from '../../../core/wire/credentials.ts'
import { CredentialName } from '../../../core/wire/credentials.ts'
import { checkedValue, verbOf } from '../arguments.ts'
import type { ApiClient } from '../client/client.ts'
import { replyFields } from '../client/reply-fields.ts'
import { userClient } from '../client/user-client.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { readSecret } from '../terminal/read-secret.ts'
import { printable, table } from '../terminal/table.ts'

const PATH = '/api/dashboard/credentials'
const VERBS = { set: 'NAME', ls: null, test: 'NAME', rotate: 'NAME', rm: 'NAME' } as const

const Listed = replyFields<CredentialList>()(
  z.object({
    credentials: z.array(
      z.object({
        name: z.string(),
        source: z.string(),
        connectors: z.array(z.string()),
        is_stored: z.boolean(),
      }),
    ),
  }),
)
const Connectors = replyFields<ConnectorList>()(
  z.object({
    connectors: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        credential: z.object({ source: z.string(), name: z.string().nullable() }),
      }),
    ),
  }),
)
const Tested = replyFields<TestCredentialReply>()(
  z.object({ ok: z.boolean(), identity: z.string().nullable(), detail: z.string() }),
)
const Changed = replyFields<ChangeCredentialReply>()(
  z.object({ name: z.string(), connectors: z.array(z.string()) }),
)

export const credential: Command = {
  name: 'credential',
  summary: 'Set, list, test, rotate and delete the credentials of connectors',
  usage: [
    'credential set NAME',
    'credential ls',
    'credential test NAME',
    'credential rotate NAME',
    'credential rm NAME',
  ],
  details:
    'NAME is the name in credential.vault of a manifest, or the name of a connector. test and rotate also accept the\n' +
    'environment variable, file or command that a manifest names. set reads the secret from the terminal without\n' +
    'echo, or from standard input, never from an argument. The control plane stores the secret encrypted; agents never receive it.',
  maxArguments: 2,
  options: {},
  examples: [
    [
      'chaperone credential set codehost',
      'type the token; within a second, requests to GitHub are sent with it',
    ],
    ['gh auth token | chaperone credential set codehost', 'take the token of another program'],
    [
      'chaperone credential test codehost',
      'send a read to GitHub with the token, and print whose token it is',
    ],
    [
      'chaperone credential rotate codehost',
      'replace the short-lived secret that a connector gets for its stored credential',
    ],
    ['chaperone credential ls', 'list which connectors have a credential'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { verb, argument } = verbOf(credential, invocation.positionals, VERBS, 'ls')
  if (verb === 'ls') return await list(invocation, userClient(invocation))
  // `test` and `rotate` also accept the name of a variable, file or command, which is not a valid name in the
  // encrypted store.
  if (verb === 'test') return await test(invocation, userClient(invocation), argument)
  if (verb === 'rotate') return await rotate(invocation, userClient(invocation), argument)
  const name = checkedValue(credential, CredentialName, argument)
  const api = userClient(invocation)
  return verb === 'set' ? await set(invocation, api, name) : await remove(invocation, api, name)
}

async function list(invocation: Invocation, api: ApiClient): Promise<number> {
  const { credentials } = Listed.parse(await api.call('GET', PATH))
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify({ credentials }))
  else {
    const rows = credentials.map(({ name, source, connectors, is_stored: isStored }) => [
      name,
      stateOf(source, isStored),
      source,
      connectors.join(', ') || 'none',
    ])
    for (const line of table(['NAME', 'STATE', 'SOURCE', 'CONNECTORS'], rows)) print(line)
  }
  return EXIT.ok
}

/**
 * Sources of credentials that the control plane reads itself. For a Connector with such a source, a stored credential
 * has no effect.
 */
const READ_SOURCES: readonly string[] = ['env', 'file', 'exec']

function stateOf(source: string, isStored: boolean): string {
  if (!isStored) return 'missing'
  return READ_SOURCES.includes(source) ? 'read' : 'stored'
}

async function set(invocation: Invocation, api: ApiClient, name: string): Promise<number> {
  const secret = await readSecret(`Credential ${printable(name)}: `)
  const reply = Changed.parse(await api.call('PUT', PATH, { name, secret }))
  const { print, warn } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify(reply))
  else print(`Credential ${reply.name} is stored${usersOf(reply)}.`)
  if (reply.connectors.length === 0)
    warn(`No connector uses it yet. Name it in a manifest: credential: { vault: ${reply.name} }`)
  return EXIT.ok
}

async function remove(invocation: Invocation, api: ApiClient, name: string): Promise<number> {
  const reply = Changed.parse(await api.call('DELETE', `${PATH}?name=${encodeURIComponent(name)}`))
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify(reply))
  else print(`Credential ${reply.name} is deleted${usersOf(reply)}.`)
  return EXIT.ok
}

async function rotate(invocation: Invocation, api: ApiClient, name: string): Promise<number> {
  const reply = Changed.parse(await api.call('POST', `${PATH}/rotate`, { name }))
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify(reply))
  else print(`The short-lived secret of ${reply.name} is being replaced${usersOf(reply)}.`)
  return EXIT.ok
}

async function test(invocation: Invocation, api: ApiClient, name: string): Promise<number> {
  const { connectors } = Connectors.parse(await api.call('GET', '/api/dashboard/connectors'))
  const named =
    connectors.find((row) => row.credential.name === name) ?? connectors.find((row) => row.name === name)
  const row = named ?? connectors.find((each) => each.name === `default/${name}`)
  if (row === undefined)
    throw new ChaperoneError('not_found', {
      detail: `No connector has the credential ${printable(name)}. List the credentials: chaperone credential ls`,
    })
  const tested = Tested.parse(await api.call('POST', `${PATH}/test`, { connector_id: row.id }))
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify(tested))
  else print(`${row.name}${sourceNote(row.credential)}: ${printable(tested.detail)}`)
  return tested.ok ? EXIT.ok : EXIT.refused
}

/** Returns the source of a credential that the control plane reads itself, such as ` (exec gh)`. */
function sourceNote({
  source,
  name,
}: z.infer<typeof Connectors>['connectors'][number]['credential']): string {
  return READ_SOURCES.includes(source) ? ` (${source} ${printable(name ?? '')})` : ''
}

function usersOf({ connectors }: z.infer<typeof Changed>): string {
  return connectors.length === 0 ? '' : ` for ${connectors.map(printable).join(', ')}`
}
