import type { Connector } from '../../core/connectors/connector.ts'

/**
 * Generates `controlplane/dashboard/labels/connector-types.ts` with the data of each connector type. The dashboard
 * cannot import the registry, which would add every catalogue to its bundle.
 */
export function connectorTypesModule(
  connectors: readonly Connector[],
  typesWithoutHosts: readonly string[],
): string {
  const labels = connectors.map(
    ({ name, label: { title, credential } }) =>
      `  ${name}: { title: ${quoted(title)}, credential: ${quoted(credential)} },\n`,
  )
  return `import type { ConnectorTypeName } from '../../../core/wire/connectors.ts'

// Generated from core/connectors/registry.ts by \`npm run generate\`.

type ConnectorLabel = { readonly title: string; readonly credential: string }

const LABELS: Readonly<Record<ConnectorTypeName, ConnectorLabel>> = {
${labels.join('')}}

/** Title of each connector type, and the provider's name for its credential. */
export const CONNECTOR_LABELS: Readonly<Record<string, ConnectorLabel>> = LABELS

/** The connector types without hosts of their own. */
export const TYPES_WITHOUT_HOSTS: readonly string[] = [${typesWithoutHosts.map(quoted).join(', ')}]
`
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
