type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? ReadonlyArray<DeepReadonly<Item>>
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

/** Operation without a request body. The query and the path parameters are its input. */
export type Read<Reply, Query = undefined, Params = undefined> = {
  readonly reply: Reply
  readonly query: Query
  readonly params: Params
}

/** Operation with a request body. */
export type Write<Reply, Body> = {
  readonly reply: Reply
  readonly body: DeepReadonly<Body>
}
