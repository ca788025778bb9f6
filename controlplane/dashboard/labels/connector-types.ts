import type { ConnectorTypeName } from '../../../core/wire/connectors.ts'

// Generated from core/connectors/registry.ts by `npm run generate`.

type ConnectorLabel = { readonly title: string; readonly credential: string }

const LABELS: Readonly<Record<ConnectorTypeName, ConnectorLabel>> = {
  codehost: { title: 'GitHub (codehost)', credential: 'Personal access token' },
  llm_a: { title: 'OpenAI (llm_a)', credential: 'API key' },
  llm_b: { title: 'Anthropic (llm_b)', credential: 'API key' },
  llm_c: { title: 'Gemini (llm_c)', credential: 'API key' },
  payments: { title: 'Stripe (payments)', credential: 'Secret key' },
  chat: { title: 'Slack (chat)', credential: 'Bot token' },
  generic: { title: 'Any HTTP API', credential: 'Token' },
  webhook: { title: 'Webhook receiver', credential: 'Token' },
  mcp: { title: 'MCP server', credential: 'Token' },
}

/** Title of each connector type, and the provider's name for its credential. */
export const CONNECTOR_LABELS: Readonly<Record<string, ConnectorLabel>> = LABELS

/** The connector types without hosts of their own. */
export const TYPES_WITHOUT_HOSTS: readonly string[] = ['generic', 'webhook', 'mcp']
