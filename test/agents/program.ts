/** A real agent program, unmodified. One file in `programs/` each. */
export type AgentProgram = {
  /** Part of the names of its cells: lower case and hyphens. */
  readonly id: string
  readonly name: string
  readonly packages: Packages
  /** Of the action that it takes besides its model calls; null for programs without tools. */
  readonly tool: 'codehost.issue.create' | 'mcp.tools.create_issue' | null
  /** Type of the connector of its model; null for programs without a model. */
  readonly model: 'llm_a' | 'llm_b' | 'llm_c' | null
  readonly command: (place: Place) => readonly string[]
  readonly env?: (place: Place) => Readonly<Record<string, string>>
  /** Files below its home folder, by their path. */
  readonly files?: (place: Place) => Readonly<Record<string, string>>
}

/** By registry; `@latest` is appended where no version is named. */
export type Packages =
  | { readonly registry: 'npm' | 'pypi'; readonly names: readonly string[] }
  | { readonly registry: 'go'; readonly names: readonly [module: string, version: string, program: string] }

export type Place = {
  /** Where its packages are: holds `node_modules`, `bin/python` or `bin/PROGRAM`. */
  readonly installed: string
  /** Its home and working folder, new for each cell; holds the scripts of `scripts/`. */
  readonly home: string
  readonly prompt: string
  readonly cell: string
}
