import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from 'pino'
import { createBackOff } from '../../../core/state/back-off.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { watchStatement } from './statement-watch.ts'

/** Shortest and longest pause between two attempts to connect, in milliseconds. */
const MIN_RETRY_MS = 50
const MAX_RETRY_MS = 2_000

export type ListenOptions = {
  readonly config: pg.ClientConfig
  readonly channel: string
  readonly onNotify: (payload: string) => void
  readonly log: Logger
  /** Milliseconds between two health checks of the connection. */
  readonly hangMs: number
  /**
   * Connection timeout in milliseconds. The LISTEN connection uses half of this limit, because no other work waits
   * for this connection.
   */
  readonly connectMs: number
}

/**
 * Runs LISTEN on a dedicated connection until disposed, and reconnects when the connection is lost. Resolves once the
 * connection listens, and rejects when the first connection fails. Calls `onNotify('')` after a reconnect.
 * Notifications between the loss and the reconnect are lost, so the caller must then read the state again.
 */
export async function listenOn(options: ListenOptions): Promise<AsyncDisposable> {
  const stop = new AbortController()
  let current = await connect(options)
  const keep = (async () => {
    while (!stop.signal.aborted) {
      await current.lost
      if (stop.signal.aborted) return
      options.log.warn(
        { channel: options.channel },
        'the connection for database notifications was lost, so this replica sees changes late; connecting again',
      )
      const next = await reconnect(options, stop.signal)
      if (next === undefined) return
      current = next
      options.onNotify('')
    }
  })()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await current.end()
      await keep
    },
  }
}

type Listening = { readonly lost: Promise<void>; end(): Promise<void> }

async function connect(options: ListenOptions): Promise<Listening> {
  const { config, channel, onNotify, connectMs } = options
  const client = new pg.Client({ ...config, connectionTimeoutMillis: connectMs / 2 })
  const { promise: lost, resolve } = Promise.withResolvers<void>()
  client.on('error', () => resolve())
  client.on('end', () => resolve())
  client.on('notification', (message) => onNotify(message.payload ?? ''))
  try {
    await client.connect()
    await client.query(`listen ${client.escapeIdentifier(channel)}`)
  } catch (error) {
    await client.end()
    throw error
  }
  const end = () => client.end()
  void keepChecked(client, options, lost)
  return { lost, end }
}

/** Sends a query at intervals. A connection without traffic would not detect the loss of its server. */
async function keepChecked(client: pg.Client, options: ListenOptions, lost: Promise<void>): Promise<void> {
  const over = new AbortController()
  void lost.then(() => over.abort())
  const text = 'select 1'
  try {
    for (;;) {
      await wait(options.hangMs, undefined, { signal: over.signal, ref: false })
      using _guard = watchStatement({ client, text }, { ...options, isPooled: false }, () => undefined)
      await client.query(text)
    }
  } catch {
    // The checks end when the caller disposes the connection or a health check fails. After a failed check the
    // connection is closed, which resolves `lost`.
    if (!over.signal.aborted) await client.end().catch(() => undefined)
  }
}

async function reconnect(options: ListenOptions, stop: AbortSignal): Promise<Listening | undefined> {
  const backOff = createBackOff({ minMs: MIN_RETRY_MS, maxMs: MAX_RETRY_MS, random: Math.random })
  for (let attempt = 0; !stop.aborted; attempt++) {
    try {
      const next = await connect(options)
      if (!stop.aborted) return next
      await next.end()
    } catch (error) {
      options.log.debug(
        { err: error, attempt },
        'could not connect to the database to receive notifications (LISTEN), trying again',
      )
    }
    await sleep(backOff.next(), stop)
  }
  return undefined
}

/** Milliseconds between two polls that replace notifications. */
const POLL_MS = 500

/**
 * Calls `onNotify('')` at intervals, for a database that delivers no notifications. A connection pooler that assigns
 * a server connection to each transaction delivers none. The caller reads the state at each call, as after a
 * reconnect.
 */
export function pollInPlaceOfListen(onNotify: (payload: string) => void): AsyncDisposable {
  const timer = setInterval(() => onNotify(''), POLL_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
    },
  }
}
