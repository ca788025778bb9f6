import { buildConnector, Dispatcher1Wrapper, Agent as UndiciAgent } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { INSTALL_TIMEOUT_MS } from '../support/package-cache.ts'
import type { Recorder, Seen } from '../support/recorder.ts'
import { keyOf, type ProviderName, startStarterProviders } from '../support/starter-providers.ts'
import { type FunctionChat, functionChatAnswer, functionChats } from './sdk/function-chats.ts'
import { type Lane, openLane, recordsOf } from './sdk/lane.ts'

/**
 * Plain and streamed chats with function tools of the real SDKs, once directly to the provider and once through a gateway with
 * the rules of the first start: the provider receives the same request, and the SDK returns the same answer.
 */
const NAMES = ['openai', '@anthropic-ai/sdk', '@google/genai'] as const
const KEYS = ['llm-a', 'llm-b', 'llm-c'] as const satisfies readonly ProviderName[]

/** Fields of one connection (RFC 9110, 7.6.1). */
const HOP_BY_HOP = /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i
const CREDENTIAL = /^(?:authorization|x-api-key|x-goog-api-key)$/i

type Pairs = ReadonlyArray<readonly [name: string, value: string]>
type Fetched = { readonly fetch: typeof fetch; readonly answers: { status: number; headers: Pairs }[] }

let laptop: Laptop
let recorder: Recorder
let lane: Lane
let chats: readonly FunctionChat[]
let direct: UndiciAgent

beforeAll(async () => {
  chats = await functionChats()
  const providers = await startStarterProviders()
  recorder = providers.recorder
  laptop = await startLaptop({ database: 'worker', manifests: providers.manifests })
  for (const name of KEYS) await laptop.cli(['credential', 'set', name], { input: `${keyOf(name)}\n` })
  for (const name of KEYS) {
    await eventually(`the test of ${name}`, async () =>
      (await laptop.cli(['credential', 'test', name])).code === 0 ? true : null,
    )
  }
  recorder.answerWith(functionChatAnswer)
  lane = await openLane(laptop, 'chatter')
  direct = directAgent(recorder.port)
}, INSTALL_TIMEOUT_MS)

afterAll(async () => {
  await lane?.close()
  await direct?.close()
  await laptop?.stop()
  await recorder?.close()
})

/** Connects every host to the recorder. The recorder's certificate has an issuer of this test. */
function directAgent(port: number): UndiciAgent {
  const connect = buildConnector({ rejectUnauthorized: false })
  return new UndiciAgent({
    connect: (options, done) =>
      connect({ ...options, hostname: '127.0.0.1', port: String(port), servername: options.hostname }, done),
  })
}

function directFetch(): typeof fetch {
  const dispatcher = new Dispatcher1Wrapper(direct)
  // The built-in fetch takes any dispatcher; only its types know the built-in one alone.
  return (input, init) => fetch(input, { ...init, dispatcher } as unknown as RequestInit)
}

/** Notes the heads of the answers. */
function noted(base: typeof fetch): Fetched {
  const answers: Fetched['answers'] = []
  return {
    answers,
    fetch: async (input, init) => {
      const response = await base(input, init)
      answers.push({ status: response.status, headers: endToEnd([...response.headers]) })
      return response
    },
  }
}

function endToEnd(pairs: Pairs): Pairs {
  return pairs.filter(([name]) => !HOP_BY_HOP.test(name))
}

function pairsOf({ rawHeaders }: Seen): Pairs {
  const names = rawHeaders.filter((_text, at) => at % 2 === 0)
  return names.map((name, at) => [name, rawHeaders[at * 2 + 1] ?? ''])
}

const requestOf = (seen: Seen | undefined) => ({
  method: seen?.method,
  target: seen?.target,
  headers: seen && endToEnd(pairsOf(seen)).filter(([name]) => !CREDENTIAL.test(name)),
  body: seen?.body.toString('latin1'),
})

/** Returns the result as JSON. The results of `@google/genai` have the header fields of the answer. */
function withoutHops(result: readonly unknown[]): unknown {
  return JSON.parse(
    JSON.stringify(result, (name, value) => (HOP_BY_HOP.test(name) ? undefined : (value as unknown))),
  )
}

/** Returns the headers that the provider receives through the gateway for those that the SDK sends. */
function forwarded(headers: Pairs | undefined, { isUncompressed }: FunctionChat): Pairs | undefined {
  if (isUncompressed !== true) return headers
  return headers?.map(([name, value]) => [name, name === 'accept-encoding' ? 'identity' : value])
}

/** Returns the request at the provider, the heads of the answers, and the result of the SDK. */
async function exchanged(chat: FunctionChat, base: typeof fetch) {
  const before = recorder.seen.length
  const { fetch: client, answers } = noted(base)
  const result = await chat.invoke(client)
  const seen = recorder.seen.slice(before)
  expect(seen).toHaveLength(1)
  return { request: requestOf(seen[0]), answers, result: withoutHops(result), seen: seen[0] }
}

describe.each(NAMES)('%s', (sdk) => {
  test('sends and receives the same through the gateway as without it', async () => {
    const own = chats.filter((chat) => chat.sdk === sdk)
    expect(own.length).toBeGreaterThanOrEqual(2)
    for (const chat of own) {
      const without = await exchanged(chat, directFetch())
      const through = await exchanged(chat, lane.fetch)
      const headers = forwarded(without.request.headers, chat)
      expect(through.request, chat.name).toEqual({ ...without.request, headers })
      expect(through.answers, chat.name).toEqual(without.answers)
      expect(through.result, chat.name).toEqual(without.result)
      expect(JSON.stringify(through.result)).toContain('get_weather')
      expect(without.request.body).toContain('get_weather')
      const credentials = pairsOf(through.seen as Seen).filter(([name]) => CREDENTIAL.test(name))
      expect(credentials).toHaveLength(1)
      expect(credentials[0]?.[1]).toContain('key-of-llm')
      const [record] = (await recordsOf(laptop, lane)).slice(-1)
      expect(record).toMatchObject({ action_type: chat.action, decision: 'ALLOW', status: 200 })
      expect(record?.actions ?? null, chat.name).toBeNull()
    }
  })
})
