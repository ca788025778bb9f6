import { Dispatcher1Wrapper, ProxyAgent } from 'undici'
import { portAgent } from '../../support/agent.ts'
import { eventually } from '../../support/eventually.ts'
import type { Laptop } from '../../support/laptop.ts'

/** What a client put on the wire, as far as its `fetch` can tell. */
export type SentRequest = { readonly method: string; readonly host: string; readonly path: string }

/** One call after another over one kept-alive tunnel, as an agent of its own: so its records come in its order. */
export type Lane = {
  readonly agent: string
  readonly fetch: typeof fetch
  readonly sent: readonly SentRequest[]
  close(): Promise<void>
}

/** The runtime's own `fetch`, led through the gateway by a dispatcher: how SDKs document the use of a proxy. */
export async function openLane(laptop: Laptop, agent: string): Promise<Lane> {
  const { target } = await portAgent(laptop, agent)
  const proxy = new ProxyAgent({
    uri: `http://127.0.0.1:${target.port}`,
    ...(target.proxyAuthorization === undefined ? {} : { token: target.proxyAuthorization }),
    requestTls: { ...(target.ca === null ? {} : { ca: target.ca }) },
  })
  const dispatcher = new Dispatcher1Wrapper(proxy)
  const sent: SentRequest[] = []
  return {
    agent,
    sent,
    fetch: (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input)
      const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase()
      // Some libraries try out how the runtime encodes forms on an address that leads nowhere.
      if (url.protocol === 'https:') sent.push({ method, host: url.host, path: url.pathname })
      // The built-in fetch takes any dispatcher; only its types know the built-in one alone.
      return fetch(input, { ...init, dispatcher } as unknown as RequestInit)
    },
    close: () => proxy.close(),
  }
}

export type RecordRow = {
  readonly method: string
  readonly host: string
  readonly path: string
  readonly action_type: string
  readonly actions?: readonly string[] | null
  readonly decision: string
  readonly status: number
  readonly seq: number
}

/** All records of one agent in the order of its requests, once there are as many as there were requests. */
export async function recordsOf(laptop: Laptop, { agent, sent }: Lane): Promise<readonly RecordRow[]> {
  return eventually(`${sent.length} records of ${agent}`, async () => {
    const rows: RecordRow[] = []
    let cursor = ''
    do {
      const { body } = await laptop.api('GET', `/api/dashboard/traffic?limit=500&agent=${agent}${cursor}`)
      rows.push(...(body['traffic'] as RecordRow[]))
      const next = body['next_cursor']
      cursor = typeof next === 'string' ? `&cursor=${encodeURIComponent(next)}` : ''
    } while (cursor !== '')
    return rows.length < sent.length ? null : rows.sort((a, b) => a.seq - b.seq)
  })
}
