import type { SpecRule } from './spec-rules.ts'

/** Connector fields that apply only to model providers, MCP servers, code hosts or chats. */
export type ModelShape = {
  readonly type: string
  readonly webSocketMessages: boolean
  readonly providerTools?:
    | { readonly allow: readonly string[]; readonly deny?: readonly string[] | undefined }
    | undefined
  readonly handles?: unknown
  readonly agentTriggers?: unknown
}

export const MODEL_RULES: ReadonlyArray<SpecRule<ModelShape>> = [
  {
    cel: "!self.webSocketMessages || self.type == 'llm_a'",
    path: ['webSocketMessages'],
    message: 'is for type llm_a only; remove the field',
    holds: ({ type, webSocketMessages }) => !webSocketMessages || type === 'llm_a',
  },
  {
    cel: "!has(self.providerTools) || self.type in ['llm_a', 'llm_b', 'llm_c']",
    path: ['providerTools'],
    message: 'is for types llm_a, llm_b and llm_c only; remove the field',
    holds: ({ type, providerTools }) => providerTools === undefined || type.startsWith('llm_'),
  },
  {
    cel: '!has(self.providerTools) || !has(self.providerTools.allow) || !has(self.providerTools.deny) || !self.providerTools.deny.exists(k, k in self.providerTools.allow)',
    path: ['providerTools', 'deny'],
    message: 'lists a kind of providerTools.allow; remove it from one of the lists',
    holds: ({ providerTools: { allow, deny = [] } = { allow: [] } }) =>
      !deny.some((kind) => allow.includes(kind)),
  },
  {
    cel: "!has(self.handles) || self.type in ['llm_a', 'llm_b', 'llm_c', 'mcp']",
    path: ['handles'],
    message: 'is for types llm_a, llm_b, llm_c and mcp only; remove the field',
    holds: ({ type, handles }) => handles === undefined || type === 'mcp' || type.startsWith('llm_'),
  },
  {
    cel: "!has(self.agentTriggers) || self.type in ['codehost', 'chat']",
    path: ['agentTriggers'],
    message: 'is for types codehost and chat only; remove the field',
    holds: ({ type, agentTriggers }) => agentTriggers === undefined || type === 'codehost' || type === 'chat',
  },
]
