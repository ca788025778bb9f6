import { Anchor, Box, Button, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { Connector } from '../../api/admin-shapes.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { RowTable } from '../../components/layout/row-table.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import { YamlNote } from '../../components/manifest/manifest-edit.tsx'
import { isReadOnly, SourceBadge } from '../../components/manifest/source-badge.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { CONNECTOR_LABELS } from '../../labels/connector-types.ts'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'
import { ConnectorRowActions } from './connector-row-actions.tsx'
import { NewConnector } from './new-connector.tsx'
import { UnownedHosts } from './unowned-hosts.tsx'

/** What stands for a provider, and whether it could send anything. A credential is never shown. */
export function Page() {
  const { may, isYaml } = useSession()
  const [isOpen, { open, close }] = useDisclosure(false)
  const connectors = useResource('GET /api/dashboard/connectors', {}, { on: ['config'] })
  const mayAct = may('connectors/update')
  return (
    <>
      <PageHead
        title="Connectors"
        about="Each stands for a provider: it names what requests do and adds the credential that agents never see."
      >
        {mayAct ? (
          <Button leftSection={<Icon name="plus" size={16} />} onClick={open}>
            Add a connector
          </Button>
        ) : null}
      </PageHead>
      <YamlNote />
      <Stack gap="md">
        <Loaded of={connectors}>
          {({ connectors: rows }) =>
            rows.length === 0 ? (
              <EmptyState icon="connectors" title="No connector yet">
                Agents can reach only what a connector stands for. Add one with its credential and say what
                may be done with it.
              </EmptyState>
            ) : (
              <RowTable
                rows={rows}
                keyOf={({ id }) => id}
                columns={[
                  { head: 'Connector', width: '22%', cell: (row) => <Name row={row} /> },
                  { head: 'Hosts', cell: (row) => <Hosts row={row} /> },
                  { head: 'Credential', isWhole: true, cell: (row) => <CredentialBadge row={row} /> },
                  {
                    head: 'Gateways',
                    isWhole: true,
                    cell: ({ gateways }) => gateways.join(', ') || 'every one',
                  },
                  { head: 'Access', isWhole: true, cell: (row) => <Access row={row} /> },
                  { head: 'Source', isWhole: true, cell: (row) => <SourceBadge row={row} /> },
                ]}
                actions={
                  mayAct
                    ? (row) =>
                        isReadOnly(row) && !isYaml ? (
                          <Text size="sm" c="dimmed" component="span">
                            set by its manifest
                          </Text>
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
          What agents may do with them:{' '}
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

function Name({ row }: { readonly row: Connector }) {
  return (
    <>
      <Text fw={600} component="div">
        <UntrustedText text={row.name} />
      </Text>
      <Text size="sm" c="dimmed">
        {CONNECTOR_LABELS[row.type]?.title ?? row.type}
      </Text>
    </>
  )
}

/** Access rules are permissions: they are read and changed where those are. */
function Access({ row: { name, type } }: { readonly row: Connector }) {
  return (
    <Anchor
      size="sm"
      underline="always"
      href={hrefOf('permissions', { type })}
      aria-label={`What is allowed with ${name}`}
    >
      What is allowed
    </Anchor>
  )
}

/** With the paths of an MCP endpoint, or the warning that there are none. */
function Hosts({ row: { domains, endpoint, warnings } }: { readonly row: Connector }) {
  if (domains.length === 0) return <span className="dim">none</span>
  return (
    <Box miw={150}>
      <span className="mono">
        <UntrustedText text={[domains.join(', '), endpoint?.join(', ') ?? ''].filter(Boolean).join(' ')} />
      </span>
      {warnings.map((warning) => (
        <Text key={warning} size="sm" c="dimmed">
          Warning: {warning}
        </Text>
      ))}
    </Box>
  )
}

function CredentialBadge({ row: { auth_type, has_token, type } }: { readonly row: Connector }) {
  if (auth_type === 'none') return <ToneBadge tone="quiet">None needed</ToneBadge>
  if (has_token) return <ToneBadge tone="good">{`Stored, sent as ${auth_type}`}</ToneBadge>
  if (type === 'codehost') {
    return (
      <ToneBadge tone="wait" title="Without its own, the token of the settings is used when one is set there">
        Of the settings, if set
      </ToneBadge>
    )
  }
  return (
    <ToneBadge tone="bad" title="Requests are denied until it has one">
      Missing
    </ToneBadge>
  )
}
