/** An environment variable of a program, for the reference: the default as Markdown, and the meaning. */
export type Setting = { readonly fallback: string; readonly meaning: string }
