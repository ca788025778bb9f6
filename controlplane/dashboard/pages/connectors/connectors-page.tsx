import { Anchor, Box, Button, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Fragment } from 'react'
import type { ConnectorView } from '../../../../core/wire/connectors.ts'
import { call } from '../../api/client.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import type { BulkAction } from '../../components/list/bulk-actions.tsx'
import { SearchableTable } from '../../components/list/searchable-table.tsx'
import { YamlNote } from '../../components/manifest/manifest-edit.tsx'
import { isReadOnly, SourceBadge } from '../../components/manifest/source-badge.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { CONNECTOR_LABELS } from '../../labels/connector-types.ts'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'
import { ConnectorRowActions } from './connector-row-actions.tsx'
import { CredentialActions } from './credential-actions.tsx'
import { CredentialBadge } from './credential-badge.tsx'
import { NewConnector } from './new-connector.tsx'
import { UnownedHosts } from './unowned-hosts.tsx'

/** Lists connectors with the state of their credentials. Credentials are never shown. */
export function Page() {
  const { may, isYaml } = useSession()
  const [isOpen, { open, close }] = useDisclosure(false)
  const connectors = useResource('GET /api/dashboard/connectors', {}, { on: ['config'] })
  const mayAct = may('connectors/update')
  return (
    <>
      <PageHead
        title="Connectors"
        about="A connector gives each request to a provider the name of its action, and adds the credential, which agents never receive."
      >
        {mayAct ? (
          <Button leftSection={<Icon name="plus" size={16} />} onClick={open}>
            Add connector
          </Button>
        ) : null}
      </PageHead>
      <YamlNote />
      <Stack gap="md">
        <Loaded of={connectors}>
          {({ connectors: rows }) =>
            rows.length === 0 ? (
              <EmptyState icon="connectors" title="No connectors">
                Agents can reach only the hosts of connectors. Add a connector with its credential and its
                access rule.
              </EmptyState>
            ) : (
              <SearchableTable
                rows={rows}
                keyOf={({ id }) => id}
                nameOf={({ name }) => name}
                textsOf={({ name, type, domains, gateways }) => [
                  ...[name, type, CONNECTOR_LABELS[type]?.title],
                  ...[...domains, ...gateways],
                ]}
                noun="connectors"
                bulk={mayAct && !isYaml ? [REMOVE] : []}
                onDone={connectors.reload}
                columns={[
                  { head: 'Connector', width: '22%', cell: (row) => <Name row={row} /> },
                  { head: 'Hosts', cell: (row) => <Hosts row={row} /> },
                  { head: 'Credential', isWhole: true, cell: (row) => <CredentialBadge row={row} /> },
                  {
                    head: 'Gateways',
                    isWhole: true,
                    cell: ({ gateways }) => gateways.join(', ') || 'all',
                  },
                  { head: 'Source', isWhole: true, cell: (row) => <SourceBadge row={row} /> },
                ]}
                note={({ warnings }) => (warnings.length === 0 ? null : <Warnings warnings={warnings} />)}
                actions={
                  mayAct
                    ? (row) =>
                        isReadOnly(row) && !isYaml ? (
                          <CredentialActions row={row} onDone={connectors.reload} />
                        ) : (
                          <ConnectorRowActions row={row} onDone={connectors.reload} />
                        )
                    : undefined
                }
              />
            )
          }
        </Loaded>
        <Text size="sm" c="dimmed">
          Actions that agents can perform:{' '}
          <Anchor inherit underline="always" href={hrefOf('permissions')}>
            Permissions
          </Anchor>
        </Text>
        {may('records/get') ? <UnownedHosts /> : null}
      </Stack>
      {mayAct ? <NewConnector isOpen={isOpen} onClose={close} onSaved={connectors.reload} /> : null}
    </>
  )
}

const REMOVE: BulkAction<ConnectorView> = {
  label: 'Remove',
  done: 'removed',
  about:
    'The credentials of these connectors are deleted, and gateways refuse requests to their hosts. Permissions are kept.',
  appliesTo: (row) => !isReadOnly(row),
  run: async ({ id }) => call('DELETE /api/dashboard/connectors', { query: { connector_id: id } }),
}

function Name({ row }: { readonly row: ConnectorView }) {
  return (
    <>
      <Text fw={600} component="div" className="name">
        <UntrustedText text={row.name} />
      </Text>
      <Text size="sm" c="dimmed">
        {CONNECTOR_LABELS[row.type]?.title ?? row.type}, <Access row={row} />
      </Text>
    </>
  )
}

/** Links to the permissions of a connector, because access rules of connectors are stored as permissions. */
function Access({ row: { name, type } }: { readonly row: ConnectorView }) {
  return (
    <Anchor
      inherit
      underline="always"
      href={hrefOf('permissions', { type })}
      aria-label={`permissions for ${name}`}
    >
      permissions
    </Anchor>
  )
}

/** Maximum number of hosts in a row of the table. */
const MAX_HOSTS = 8

/** Shows a host on its own line. A long host is wrapped after a dot. */
function Host({ name }: { readonly name: string }) {
  return (
    <div className="mono host">
      {[...name.matchAll(/[^.]+\.?|\./g)].map(({ 0: label, index: offset }) => (
        <Fragment key={offset}>
          <UntrustedText text={label} />
          <wbr />
        </Fragment>
      ))}
    </div>
  )
}

function Warnings({ warnings }: Pick<ConnectorView, 'warnings'>) {
  return (
    <Stack gap={2}>
      {warnings.map((warning) => (
        <Text key={warning} size="sm" c="dimmed">
          Warning: <UntrustedText text={warning} canGrow />
        </Text>
      ))}
    </Stack>
  )
}

/** Shows the hosts and MCP endpoint paths of a connector. */
function Hosts({ row: { domains, endpoint } }: { readonly row: ConnectorView }) {
  if (domains.length === 0) return <span className="dim">none</span>
  return (
    <Box miw={150}>
      {domains.slice(0, MAX_HOSTS).map((domain) => (
        <Host key={domain} name={domain} />
      ))}
      {domains.length > MAX_HOSTS ? (
        <Text size="sm" c="dimmed">
          and {domains.length - MAX_HOSTS} more
        </Text>
      ) : null}
      {endpoint === null || endpoint.length === 0 ? null : (
        <div className="mono">
          <UntrustedText text={endpoint.join(', ')} />
        </div>
      )}
    </Box>
  )
}
