import type { RiskLevel } from '../../action/action.ts'
import type { ReachedHost } from './reached-host.ts'

/**
 * Kinds of acts that a model provider performs for a request. A kind is the end of an action name:
 * `llm_a.provider_tool.mcp`. All of these actions are writes.
 */
export const PROVIDER_KINDS = {
  'provider_tool.mcp': { risk: 'high', reachesOut: true, does: 'calls tools of an MCP server' },
  'provider_tool.connector': {
    risk: 'high',
    reachesOut: true,
    does: "reads and changes a person's account at another service through a connector of the provider",
  },
  'provider_tool.web_search': { risk: 'medium', reachesOut: true, does: 'searches the web' },
  'provider_tool.web_fetch': { risk: 'high', reachesOut: true, does: 'fetches pages that the model chooses' },
  'provider_tool.code': { risk: 'medium', reachesOut: false, does: 'runs code in a sandbox of the provider' },
  'provider_tool.computer': { risk: 'medium', reachesOut: false, does: 'steers a browser or a desktop' },
  'provider_tool.file_search': { risk: 'medium', reachesOut: false, does: 'searches stored files' },
  'provider_tool.unknown': {
    risk: 'high',
    reachesOut: true,
    does: 'runs a tool of a type that the catalogue does not describe',
  },
  'provider_fetch.url': { risk: 'high', reachesOut: true, does: 'fetches a URL of the request' },
  'hosted_approval.answer': {
    risk: 'high',
    reachesOut: false,
    does: 'continues a tool call that was waiting for an approval',
  },
  'hosted_agent.run': {
    risk: 'medium',
    reachesOut: false,
    does: 'runs an agent or a stored configuration, or generates a response that continues after the request',
  },
  'batch.run': { risk: 'medium', reachesOut: false, does: 'sends further requests after this request' },
} as const satisfies Readonly<Record<string, KindFacts>>

/**
 * Facts about a kind. `reachesOut`: the provider sends data of the request to third parties, or reads data from them.
 */
type KindFacts = { readonly risk: RiskLevel; readonly reachesOut: boolean; readonly does: string }

export type ProviderKind = keyof typeof PROVIDER_KINDS

export const PROVIDER_KIND_NAMES = Object.keys(PROVIDER_KINDS) as readonly ProviderKind[]

/** One act that the provider performs for a request, such as a tool call or the fetch of a URL. */
export type ProviderAct = {
  readonly kind: ProviderKind
  /** Host that the provider connects to, or id of the resource that it uses; undefined if the request names none. */
  readonly target: string | undefined
  /**
   * Host that the provider connects to. `unreadable`: servers could disagree about the host in the URL. `unread`: the
   * gateway does not read the part of the request with the host. Null: the request names no host.
   */
  readonly reaches: ReachedHost | 'unreadable' | 'unread' | null
  /** Path of the request field that causes the act, or name of the operation that causes it. */
  readonly field: string
}

/** Kinds that the gateway denies unless `Connector.spec.providerTools.allow` lists them. */
export const REACHING_KINDS = [
  'provider_tool.mcp',
  'provider_tool.connector',
  'provider_tool.web_search',
  'provider_tool.web_fetch',
  'provider_tool.unknown',
  'provider_fetch.url',
] as const satisfies readonly ProviderKind[]

export function isProviderKind(name: string): name is ProviderKind {
  return Object.hasOwn(PROVIDER_KINDS, name)
}
