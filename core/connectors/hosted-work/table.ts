/** Work that a provider goes on with after its answer, as text that people can scan. */
export type WorkTable = {
  readonly connector: string
  /**
   * One a line: kind, method, segment of the path of the starting request before which the path of the cancelling request
   * begins (`a|b`: either), and that path with ids in braces. `-` instead of them: the provider documents no operation that
   * ends it and keeps its data.
   */
  readonly kinds: string
  /**
   * One a line: operation that starts it, kind, action beside which it starts it (`-`: always), and for each id its path in
   * the answer (`id=response.id`).
   */
  readonly starts: string
  /**
   * One a line: operation that ends it, kind, and states of which one has to stand in `status` of the answer (`a,b`); without
   * states an answer 2xx is enough.
   */
  readonly ends: string
  /** Kinds that are cancelled only with `killSwitch.cancelBatches`. */
  readonly batches?: readonly string[]
  /** JSON bodies of cancelling requests by kind, with ids in braces. */
  readonly bodies?: Readonly<Record<string, object>>
  /** Fields of the starting request without which the API refuses the cancelling one, or which choose the account. */
  readonly headers?: readonly string[]
  /** An answer 2xx with this text as a member at its root is a failure. */
  readonly errorMember?: string
}

export type CancelOperation = {
  readonly method: string
  readonly anchors: readonly string[]
  readonly path: string
  readonly body?: object
}

export type WorkKind = {
  readonly kind: string
  /** Null: nothing cancels it. */
  readonly cancel: CancelOperation | null
  readonly isBatch: boolean
}

export type WorkStart = {
  readonly kind: WorkKind
  /** The type of the action beside which it starts the work; null: always. */
  readonly beside: string | null
  readonly ids: ReadonlyArray<{ readonly name: string; readonly path: readonly string[] }>
}

export type WorkEnd = { readonly kind: string; readonly states: readonly string[] | null }

export type HostedWork = {
  /** By action type. */
  readonly starts: ReadonlyMap<string, WorkStart>
  readonly ends: ReadonlyMap<string, WorkEnd>
  readonly headers: readonly string[]
  readonly errorMember: string | null
}

export function compileWork(table: WorkTable): HostedWork {
  const { connector, batches = [], bodies = {}, headers = [], errorMember = null } = table
  const kinds = new Map(
    linesOf(table.kinds).map(([kind = '', method = '-', anchors = '', path = '']) => {
      const body = bodies[kind]
      const operation = { method, anchors: anchors.split('|'), path, ...(body === undefined ? {} : { body }) }
      return [kind, { kind, cancel: method === '-' ? null : operation, isBatch: batches.includes(kind) }]
    }),
  )
  const starts = linesOf(table.starts).flatMap(([name = '', kind = '', beside = '-', ...ids]) => {
    const known = kinds.get(kind)
    const places = ids.map((id) => {
      const [key = '', path = ''] = id.split('=')
      return { name: key, path: path.split('.') }
    })
    const other = beside === '-' ? null : `${connector}.${beside}`
    return known === undefined
      ? []
      : [[`${connector}.${name}`, { kind: known, beside: other, ids: places }] as const]
  })
  const ends = linesOf(table.ends).map(
    ([name = '', kind = '', states]) =>
      [`${connector}.${name}`, { kind, states: states?.split(',') ?? null }] as const,
  )
  return { starts: new Map(starts), ends: new Map(ends), headers, errorMember }
}

function linesOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/\s+/))
}
