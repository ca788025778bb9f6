/** Documentation of one environment variable of a program: its default as Markdown, and its meaning. */
export type Setting = { readonly fallback: string; readonly meaning: string }
