import type { ConnectorRow } from '../../connectors/rows.ts'
import { createFileWatch } from './file-watch.ts'

/**
 * Tracks Connectors whose source must be read although their secret is not due: at the start of the process, and after
 * a change of the file.
 */
export type Rereads = Disposable & {
  /**
   * Replaces the tracked Connectors. The source of a new Connector with an environment variable is due at once, and a
   * file is due after its first poll.
   */
  follow(connectors: readonly ConnectorRow[]): void
  /**
   * Reports whether the file of the Connector was not polled yet. In this case, the file must not be read, because a
   * change between the read and the first poll would not be detected.
   */
  isPending(connector: ConnectorRow): boolean
  isDue(id: string): boolean
  done(id: string): void
}

/** @param onDue Called when the file of a Connector changed. */
export function createRereads(onDue: () => void): Rereads {
  let known: ReadonlySet<string> = new Set()
  const due = new Set<string>()
  const watch = createFileWatch((id) => {
    due.add(id)
    onDue()
  })
  return {
    follow(connectors) {
      const variables = connectors.filter(({ spec }) => spec.credential?.env !== undefined)
      const files = connectors.flatMap(({ id, spec }) => {
        const path = spec.credential?.file?.path
        return path === undefined ? [] : [[id, path] as const]
      })
      for (const { id } of variables) if (!known.has(id)) due.add(id)
      known = new Set([...variables.map(({ id }) => id), ...files.map(([id]) => id)])
      for (const id of due) if (!known.has(id)) due.delete(id)
      watch.follow(new Map(files))
    },
    isPending: ({ id, spec }) => spec.credential?.file !== undefined && !watch.isPolled(id),
    isDue: (id) => due.has(id),
    done: (id) => void due.delete(id),
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  }
}
