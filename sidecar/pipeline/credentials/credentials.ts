import type { AgentEntry } from '../../../core/wire/gateway/sync.ts'

/** A port of one agent that requires its key: a local port, or the socket for captured commands. */
export type KeyedPort = {
  readonly agent: string
  /** Reports whether `key` is the port key of the agent. The agent's API key is verified separately. */
  readonly accepts: (agent: AgentEntry, key: string) => boolean
}

/**
 * Credentials by which the agent is identified. `port`: the agent is known without a key (the port of a pod, or an
 * action that the control plane orders). `basic`: `Proxy-Authorization: Basic name:key`, which must name the agent of
 * `keyedPort` if there is one. `none`: no identification.
 */
export type Credentials =
  | { readonly kind: 'port'; readonly agent: string }
  | { readonly kind: 'basic'; readonly header: string; readonly keyedPort?: KeyedPort }
  | { readonly kind: 'none'; readonly keyedPort?: KeyedPort }
