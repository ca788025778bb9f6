import { CHANGES_CHANNEL } from '../../../db/config-version.ts'
import { type ConnectorRow, listConnectors } from '../../connectors/rows.ts'
import { Rereads } from '../local/rereads.ts'
import { hasMinted, listMinted } from '../rows.ts'
import { type ExchangeDeps, exchangeSecret, type Source, sourceOf } from './exchange.ts'

/**
 * Milliseconds between two reads of the database when no credential is due for minting earlier and no Connector
 * changes.
 */
const IDLE_MS = 30_000
/** Minimum time in milliseconds between two reads of the database. */
const BUSY_MS = 100
/** Milliseconds until the next read of the database after an unexpected error, or after a minting was started. */
const RETRY_MS = 1_000

/**
 * Mints the short-lived credentials of Connectors before the present credentials expire, until disposed. Each replica
 * runs one refresher; a claim in the database ensures that only one replica at a time mints a credential.
 */
export class Refresher implements AsyncDisposable {
  readonly #deps: ExchangeDeps
  readonly #reread: Rereads
  /**
   * Mintings in flight, by the id of the Connector. A read of the database does not wait for a minting, so a slow
   * source delays no other source.
   */
  readonly #exchanges = new Map<string, Promise<void>>()
  readonly #disposal = new AbortController()
  #changes: AsyncDisposable | null = null
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | null = null
  #isWoken = false

  private constructor(deps: ExchangeDeps) {
    this.#deps = deps
    this.#reread = new Rereads(() => this.#wake())
  }

  static async start(deps: ExchangeDeps): Promise<Refresher> {
    const refresher = new Refresher(deps)
    refresher.#changes = await deps.db.listen(CHANGES_CHANNEL, () => refresher.#wake())
    refresher.#run()
    return refresher
  }

  #wake(): void {
    this.#isWoken = true
    this.#run()
  }

  #run(): void {
    if (this.#running !== null || this.#isDisposed) return
    this.#isWoken = false
    const start = this.#start.bind(this)
    this.#running = refreshDue(this.#deps, { start, reread: this.#reread })
      .catch((error: unknown) => {
        this.#logFailure(error)
        return RETRY_MS
      })
      .then((waitMs) => {
        this.#running = null
        this.#schedule(this.#isWoken ? BUSY_MS : waitMs)
      })
  }

  #start(connector: ConnectorRow, source: Source): void {
    const { id } = connector
    if (this.#exchanges.has(id) || this.#isDisposed) return
    const given = { connector, source, reread: this.#reread, disposed: this.#disposal.signal }
    const exchange = exchangeSecret(this.#deps, given)
      .then(
        () => {
          this.#isWoken = true
          if (this.#running === null) this.#schedule(BUSY_MS)
        },
        (error: unknown) => this.#logFailure(error),
      )
      .finally(() => this.#exchanges.delete(id))
    this.#exchanges.set(id, exchange)
  }

  #schedule(waitMs: number): void {
    clearTimeout(this.#timer)
    if (this.#isDisposed) return
    this.#timer = setTimeout(() => this.#run(), Math.min(IDLE_MS, Math.max(BUSY_MS, waitMs)))
  }

  #logFailure(error: unknown): void {
    this.#deps.log.error(
      { err: error },
      'short-lived credentials could not be refreshed, trying again; those in use stay valid until they expire',
    )
  }

  get #isDisposed(): boolean {
    return this.#disposal.signal.aborted
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort()
    clearTimeout(this.#timer)
    this.#reread[Symbol.dispose]()
    await this.#changes?.[Symbol.asyncDispose]()
    await this.#running
    await Promise.all(this.#exchanges.values())
  }
}

type Refreshing = {
  readonly start: (connector: ConnectorRow, source: Source) => void
  readonly reread: Rereads
}

/**
 * Starts the minting of every short-lived credential that is due. Returns the milliseconds until the next credential is
 * due.
 */
async function refreshDue({ db, keyring }: ExchangeDeps, { start, reread }: Refreshing): Promise<number> {
  const connectors = (await listConnectors(db)).filter((row) => hasMinted(row) && row.credential !== null)
  reread.follow(connectors)
  if (connectors.length === 0) return IDLE_MS
  const minted = await listMinted(db)
  const waits = connectors.map((connector) => {
    // The credential is not minted before its file was polled for the first time. The poll wakes the refresher.
    if (reread.isPending(connector)) return IDLE_MS
    const source = sourceOf(keyring, connector)
    const row = minted.get(connector.id)
    const isCurrent = row?.sourceHash === source.hash && row.dueInMs > 0 && !reread.isDue(connector.id)
    if (isCurrent) return row.dueInMs
    // The credential is already being minted. The refresher checks again when the claim of this minting expires.
    if (row !== undefined && row.claimedMs > 0) return row.claimedMs
    start(connector, source)
    return RETRY_MS
  })
  return Math.min(...waits)
}
