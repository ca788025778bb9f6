import type { ConnectorRow } from '../../connectors/rows.ts'
import { FileWatch } from './file-watch.ts'

/**
 * Until disposed, tracks the Connectors whose source must be read although their credential need not be refreshed yet:
 * every Connector at the start of the process, and a Connector whose file has changed.
 */
export class Rereads implements Disposable {
  readonly #due = new Set<string>()
  readonly #watch: FileWatch
  #known: ReadonlySet<string> = new Set()

  /** @param onDue Called when the file of a Connector changed. */
  constructor(onDue: () => void) {
    this.#watch = new FileWatch((id) => {
      this.#due.add(id)
      onDue()
    })
  }

  /**
   * Replaces the tracked Connectors. For a new Connector, an environment variable must be read at once, and a
   * file after its first poll.
   */
  follow(connectors: readonly ConnectorRow[]): void {
    const variables = connectors.filter(({ spec }) => spec.credential?.env !== undefined)
    const files = connectors.flatMap(({ id, spec }) => {
      const path = spec.credential?.file?.path
      return path === undefined ? [] : [[id, path] as const]
    })
    for (const { id } of variables) if (!this.#known.has(id)) this.#due.add(id)
    this.#known = new Set([...variables.map(({ id }) => id), ...files.map(([id]) => id)])
    for (const id of this.#due) if (!this.#known.has(id)) this.#due.delete(id)
    this.#watch.follow(new Map(files))
  }

  /** Reports whether the file of the Connector was not polled yet. A read now could miss a later change of the file. */
  isPending({ id, spec }: ConnectorRow): boolean {
    return spec.credential?.file !== undefined && !this.#watch.isPolled(id)
  }

  isDue(id: string): boolean {
    return this.#due.has(id)
  }

  done(id: string): void {
    this.#due.delete(id)
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]()
  }
}
