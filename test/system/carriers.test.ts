import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConnectorEntry } from '../../core/wire/gateway/sync.ts'
import { type AgentRequest, type Headers, keyedAgent } from '../support/agent.ts'
import { type AgentLine, absoluteLine, connectLine, http2Line } from '../support/agent-line.ts'
import {
  CONNECTOR_TYPES,
  type Everything,
  HOSTS,
  startEverything,
  storedHeader,
} from '../support/every-connector.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import type { RawAnswer } from '../support/raw-http.ts'
import type { Seen } from '../support/recorder.ts'

type ConnectorType = ConnectorEntry['type']
const OWN = 'OWN0credential0of0the0agent'
const BASIC = Buffer.from(`agent:${OWN}`).toString('base64')
/** What the recorder must not see, as it stands or in base64. */
const CANARY = new RegExp(`${OWN}|${BASIC}|${Buffer.from(OWN).toString('base64').slice(0, 24)}`, 'i')

let everything: Everything
let laptop: Laptop
const lines = new Map<string, AgentLine>()

beforeAll(async () => {
  everything = await startEverything()
  laptop = await startLaptop({ database: 'worker', manifests: { 'everything.yaml': everything.manifests } })
  const { target } = await keyedAgent(laptop, 'carrier')
  lines
    .set('connect-h1', connectLine(target))
    .set('connect-h2', http2Line(target))
    .set('absolute', absoluteLine(target))
})
afterAll(async () => {
  for (const line of lines.values()) line.close()
  await laptop?.stop()
  await everything?.recorder.close()
})

const JSON_TYPE = ['Content-Type', 'application/json'] as const
const FORM_TYPE = ['Content-Type', 'application/x-www-form-urlencoded'] as const
const CALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'read', arguments: { token: 'x' } },
})

/** A harmless write of each connector. */
const BASE: Readonly<
  Record<ConnectorType, { readonly target: string; readonly headers: Headers; readonly body: string }>
> = {
  codehost: { target: '/repos/o/r/issues', headers: [JSON_TYPE], body: '{"title":"t"}' },
  llm_a: { target: '/v1/embeddings', headers: [JSON_TYPE], body: '{"model":"m","input":"x"}' },
  llm_b: { target: '/v1/messages', headers: [JSON_TYPE], body: '{"model":"m"}' },
  llm_c: { target: '/v1beta/models/m:generateContent', headers: [JSON_TYPE], body: '{"contents":[]}' },
  payments: { target: '/v1/customers', headers: [FORM_TYPE], body: 'email=a%40b.c' },
  chat: { target: '/api/chat.postMessage', headers: [JSON_TYPE], body: '{"channel":"C1","text":"t"}' },
  generic: { target: '/things', headers: [JSON_TYPE], body: '{"a":1}' },
  webhook: { target: '/hook', headers: [JSON_TYPE], body: '{"a":1}' },
  mcp: { target: '/mcp', headers: [JSON_TYPE], body: CALL },
}

function baseRequest(type: ConnectorType): AgentRequest & { headers: Headers; body: string } {
  return { method: 'POST', host: HOSTS[type][0], ...BASE[type] }
}

type Change = (request: AgentRequest & { headers: Headers; body: string }) => AgentRequest

const header =
  (...pairs: Headers): Change =>
  (request) => ({ ...request, headers: [...request.headers, ...pairs] })
const query =
  (text: string): Change =>
  (request) => ({ ...request, target: `${request.target}?${text}` })
const body =
  (type: string, text: string): Change =>
  (request) => ({ ...request, headers: [['Content-Type', type]], body: text })
const multipart = (...parts: readonly string[]): Change =>
  body(
    'multipart/form-data; boundary=b',
    `${parts.map((part) => `--b\r\nContent-Disposition: form-data; ${part}\r\n`).join('')}--b--\r\n`,
  )

const HEADER_NAMES = [
  'Authorization',
  'authorization',
  'AUTHORIZATION',
  'Proxy-Authorization',
  'X-API-Key',
  'x-api-key',
  'Api-Key',
  'ApiKey',
  'X-ApiKey',
  'Private-Token',
  'Job-Token',
  'Deploy-Token',
  'Cookie',
  'Cookie2',
  'X-Auth-Token',
  'X-Auth-Key',
  'X-Access-Token',
  'X-Api-Token',
  'X-Token',
  'X-Goog-Api-Key',
  'X-Goog-Iam-Authorization-Token',
  'X-Amz-Security-Token',
  'X-Vault-Token',
  'X-GitHub-Token',
  'X-Gitlab-Token',
  'Ocp-Apim-Subscription-Key',
  'X-RapidAPI-Key',
  'X-Authorization',
  'X-Session-Token',
  'X-Shopify-Access-Token',
  'X-Client-Secret',
  'X-Forwarded-Access-Token',
] as const

const EVERYWHERE: ReadonlyArray<readonly [name: string, change: Change]> = [
  ...HEADER_NAMES.map((name) => [`${name}:`, header([name, `Bearer ${OWN}`])] as const),
  ['Authorization twice', header(['Authorization', `Bearer ${OWN}`], ['authorization', `token ${OWN}`])],
  ['Authorization: Basic', header(['Authorization', `Basic ${BASIC}`])],
  ['Authorization with an underscore for nothing', header(['X_Auth_Key', OWN])],
  ['two cookies', header(['Cookie', `a=${OWN}`], ['Cookie', `b=${OWN}`])],
  ['a WebSocket subprotocol', header(['Sec-WebSocket-Protocol', `openai-insecure-api-key.${OWN}`])],
  ...[
    'access_token',
    'ACCESS_TOKEN',
    'access%5Ftoken',
    'oauth_token',
    'auth_token',
    'api_key',
    'apikey',
    'api-key',
    'private_token',
    'client_secret',
    'access_token[]',
    'a=1;access_token',
    '&&access_token',
  ].map((name) => [`?${name}=`, query(`page=2&${name}=${OWN}&q=a%20b`)] as const),
]

const BY_CONNECTOR: ReadonlyArray<readonly [type: ConnectorType, name: string, change: Change]> = [
  ['llm_a', '?key=', query(`key=${OWN}`)],
  ['llm_a', '?token=', query(`token=${OWN}`)],
  ['llm_a', 'OpenAI-Api-Key:', header(['OpenAI-Api-Key', OWN])],
  ['llm_b', '?key=', query(`key=${OWN}`)],
  ['llm_b', 'Anthropic-Auth-Token:', header(['Anthropic-Auth-Token', OWN])],
  ['llm_c', '?key=', query(`key=${OWN}`)],
  ['llm_c', '?$key=', query(`alt=sse&%24key=${OWN}`)],
  ['llm_c', '?$httpHeaders=', query(`$httpHeaders=X-Goog-Api-Key%3A${OWN}`)],
  ['llm_c', 'X_Goog_Api_Key:', header(['X_Goog_Api_Key', OWN])],
  ['payments', '?key=', query(`key=${OWN}`)],
  ['payments', 'key= in a form', body('application/x-www-form-urlencoded', `email=a&key=${OWN}`)],
  ['payments', 'KEY= in a form', body('application/x-www-form-urlencoded', `KEY=${OWN}&email=a`)],
  [
    'payments',
    'an encoded key= in a form',
    body('application/x-www-form-urlencoded', `email=a&%6bey=${OWN}`),
  ],
  ['payments', 'a form without a type', (request) => ({ ...request, headers: [], body: `key=${OWN}` })],
  ['payments', 'a form as text', body('text/plain', `key=${OWN}`)],
  [
    'payments',
    'a compressed form',
    (request) => ({ ...request, headers: [FORM_TYPE, ['Content-Encoding', 'gzip']], body: `key=${OWN}` }),
  ],
  ['payments', 'a multipart part', multipart(`name="key"\r\n\r\n${OWN}`)],
  ['chat', 'token= in a form', body('application/x-www-form-urlencoded', `token=${OWN}&channel=C1`)],
  ['chat', 'token[]= in a form', body('application/x-www-form-urlencoded', `channel=C1&token[]=${OWN}`)],
  ['chat', 'token in JSON', body('application/json', `{"channel":"C1","token":"${OWN}"}`)],
  ['chat', 'an escaped token in JSON', body('application/json', `{"channel":"C1","\\u0074oken":"${OWN}"}`)],
  ['chat', 'two tokens in JSON', body('application/json', `{"token":"x","token":"${OWN}"}`)],
  ['chat', 'token in JSON with a trailing comma', body('application/json', `{"token":"${OWN}",}`)],
  ['chat', 'token in JSON in UTF-16', body('application/json; charset=utf-16', `{"token":"${OWN}"}`)],
  [
    'chat',
    'token in JSON under another name of JSON',
    body('application/vnd.api+json', `{"token":"${OWN}"}`),
  ],
  [
    'chat',
    'token in JSON without a type',
    (request) => ({ ...request, headers: [], body: `{"token":"${OWN}"}` }),
  ],
  ['chat', 'a multipart part', multipart('name="channel"\r\n\r\nC1', `name="token"\r\n\r\n${OWN}`)],
  ['chat', 'a multipart part under an extended name', multipart(`name*=UTF-8''token\r\n\r\n${OWN}`)],
  ['chat', 'a multipart part with an unquoted name', multipart(`name=token\r\n\r\n${OWN}`)],
  [
    'chat',
    'multipart without a boundary',
    body('multipart/form-data', `--b\r\nContent-Disposition: form-data; name="token"\r\n\r\n${OWN}\r\n--b--`),
  ],
  ['chat', '?token=', query(`token=${OWN}&channel=C1`)],
  ['chat', 'X-Slack-Token:', header(['X-Slack-Token', OWN])],
  ['codehost', '?client_secret=', query(`client_id=${OWN}&client_secret=${OWN}`)],
  ['mcp', '?token=', query(`token=${OWN}`)],
  ['generic', '?token=', query(`token=${OWN}`)],
  ['webhook', '?token=', query(`token=${OWN}`)],
]

function faultsOf(
  type: ConnectorType,
  what: string,
  answer: RawAnswer,
  seen: readonly Seen[],
): readonly string[] {
  const faults: string[] = []
  const fail = (text: string) => void faults.push(`${type}, ${what}: ${text}`)
  const isRefused = [400, 415].includes(answer.status)
  if (!isRefused && answer.status !== 200) fail(`answered ${answer.status}`)
  if (seen.length !== (isRefused ? 0 : 1)) fail(`arrived ${seen.length} times`)
  const [name, value] = storedHeader(type)
  for (const one of seen) {
    const all = [...one.rawHeaders, one.target, one.body.toString('latin1')].join('\n')
    if (CANARY.test(all)) fail(`the agent's own arrived: ${all}`)
    if (one.headerCount(name) !== 1 || one.header(name) !== value)
      fail(`our credential arrived as ${one.header(name)}`)
    const ours = one.rawHeaders.filter((text) => text.includes(value.split(' ').at(-1) ?? value))
    if (ours.length !== 1) fail(`our credential arrived ${ours.length} times`)
  }
  return faults
}

async function sendAll(
  way: string,
  cases: ReadonlyArray<readonly [ConnectorType, string, Change]>,
): Promise<readonly string[]> {
  const line = lines.get(way)
  if (line === undefined) throw new Error(`no line ${way}`)
  const faults: string[] = []
  for (const [type, what, change] of cases) {
    const from = everything.recorder.seen.length
    const answer = await line.send(change(baseRequest(type)))
    faults.push(...faultsOf(type, what, answer, everything.recorder.seen.slice(from)))
  }
  return faults
}

describe.each(['connect-h1', 'connect-h2', 'absolute'])('over %s', (way) => {
  test(`${EVERYWHERE.length} carriers on every connector and ${BY_CONNECTOR.length} of their own: the upstream sees one credential, ours`, async () => {
    const all = CONNECTOR_TYPES.flatMap((type) =>
      EVERYWHERE.map(([name, change]) => [type, name, change] as const),
    )
    // On the proxy's own port Proxy-Authorization is how the agent says its name; a second one is refused there.
    const own = way === 'absolute' ? all.filter(([, name]) => name !== 'Proxy-Authorization:') : all
    expect(EVERYWHERE.length).toBeGreaterThanOrEqual(30)
    expect(await sendAll(way, [...own, ...BY_CONNECTOR])).toEqual([])
  })
})

const LOOK_ALIKES: ReadonlyArray<readonly [type: ConnectorType, what: string, change: Change]> = [
  [
    'codehost',
    'a query of names that resemble',
    query('tokens=1&keyword=k&page_token=p&sort=key&apikeys=2&q=token%3Ax+y'),
  ],
  ['codehost', 'token and key as names of the API’s own', query('token=t&key=k')],
  [
    'codehost',
    'a token in JSON',
    body('application/json', '{"title":"t", "token" : "x",  "access_token":1.0}'),
  ],
  [
    'codehost',
    'headers that resemble',
    header(
      ['X-GitHub-Api-Version', '2022-11-28'],
      ['Idempotency-Key', 'k'],
      ['X-Request-Key', 'a'],
      ['If-None-Match', '"token"'],
    ),
  ],
  ['llm_a', 'an organisation and a project', header(['OpenAI-Organization', 'org'], ['OpenAI-Project', 'p'])],
  ['llm_b', 'versions', header(['anthropic-version', '2023-06-01'], ['anthropic-beta', 'token-counting'])],
  [
    'llm_c',
    'what a client says of itself',
    header(['x-goog-api-client', 'gl-node/24'], ['x-goog-user-project', 'p']),
  ],
  ['llm_c', 'how it wants the answer', query('alt=sse&pageToken=t&prettyPrint=false')],
  [
    'payments',
    'fields that resemble',
    body(
      'application/x-www-form-urlencoded',
      'metadata[key]=a&keys=b&source=tok_1&token=tok_2&api_version=1&a=%41+b',
    ),
  ],
  [
    'payments',
    'an account and a key of idempotency',
    header(['Stripe-Account', 'acct_1'], ['Idempotency-Key', 'k']),
  ],
  [
    'chat',
    'nested and longer names',
    body('application/json', '{"channel":"C1","tokens":["a"], "metadata":{"token":"t"} ,"x":1e400}'),
  ],
  [
    'chat',
    'a form whose values name tokens',
    body('application/x-www-form-urlencoded', 'channel=C1&text=token%3Dabc&a=token=1&token_type=x'),
  ],
  [
    'chat',
    'a multipart form with a file',
    multipart(
      'name="channels"\r\n\r\nC1',
      'name="file"; filename="token.txt"\r\nContent-Type: text/plain\r\n\r\ntoken=1',
    ),
  ],
  ['generic', 'a form with a token', body('application/x-www-form-urlencoded', 'device_token=a&token=b')],
  ['mcp', 'an argument called token', (request) => request],
]

test.each(LOOK_ALIKES)('%s: %s arrive as they were sent, byte for byte', async (type, _what, change) => {
  const request = change(baseRequest(type))
  const from = everything.recorder.seen.length
  const answer = await lines.get('connect-h1')?.send(request)
  expect(answer?.status).toBe(200)
  const [seen] = everything.recorder.seen.slice(from)
  expect(seen?.target).toBe(request.target)
  expect(seen?.body.toString('latin1')).toBe(String(request.body))
  for (const [name, value] of request.headers ?? []) expect(seen?.header(name)).toBe(value)
})
