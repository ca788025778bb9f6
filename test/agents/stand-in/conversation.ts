/** What a model request says, whatever the format of its provider. */
export type Conversation = {
  readonly tools: readonly Tool[]
  /** Texts of the tool results so far. */
  readonly results: readonly string[]
  readonly isStream: boolean
}

/** `isCustom`: takes a text instead of an object (Responses API). */
export type Tool = { readonly name: string; readonly parameters: Schema; readonly isCustom?: boolean }

/** JSON Schema of the arguments, as far as it is read here. */
export type Schema = {
  readonly properties?: Readonly<Record<string, { readonly type?: unknown }>>
}

export type Reply =
  | { readonly kind: 'text'; readonly text: string }
  /** A text for a custom tool. */
  | {
      readonly kind: 'tool'
      readonly name: string
      readonly input: Readonly<Record<string, unknown>> | string
    }

/** Any JSON value, read member by member. */
export type Json = { readonly [name: string]: Json } & readonly Json[]

export function toolOf(name: unknown, parameters: unknown): Tool {
  return { name: String(name), parameters: (parameters ?? {}) as Schema }
}

/** The text of a tool result: a string, or a list of parts with texts. */
export function textOf(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content ?? '')
}
