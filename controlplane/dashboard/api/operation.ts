type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? ReadonlyArray<DeepReadonly<Item>>
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

/** Operation without a body: its input is the query and the path parameters. */
export type Read<Reply, Query = undefined, Params = undefined> = {
  readonly reply: Reply
  readonly query: Query
  readonly params: Params
}

/** Operation with a body. */
export type Write<Reply, Body> = {
  readonly reply: Reply
  readonly body: DeepReadonly<Body>
}
