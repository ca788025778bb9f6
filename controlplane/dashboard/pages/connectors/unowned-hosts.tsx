import { Button, Modal, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { UnownedHost } from '../../../../core/wire/connectors.ts'
import { Loaded } from '../../components/layout/loading.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { RowTable } from '../../components/layout/row-table.tsx'
import { CopyText } from '../../components/text/copy-text.tsx'
import { AgoText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { useResource } from '../../live/use-resource.ts'

const SHOWN = 100

/** Lists requested hosts that no connector owns, each with the manifest that allows access. */
export function UnownedHosts() {
  const hosts = useResource(
    'GET /api/dashboard/unowned-hosts',
    { query: { limit: SHOWN } },
    { on: ['config'], everyMs: 10_000 },
  )
  const [chosen, setChosen] = useState<UnownedHost | null>(null)
  return (
    <Panel title="Requested hosts without a connector">
      <Text size="sm" c="dimmed" mb="sm">
        Gateways refuse requests to hosts without a connector. Add a connector to allow access.
      </Text>
      <Loaded of={hosts}>
        {({ hosts: rows }) =>
          rows.length === 0 ? (
            <Text size="sm">No agent has requested a host without a connector.</Text>
          ) : (
            <RowTable
              rows={rows}
              keyOf={({ host, gateway }) => `${gateway} ${host}`}
              columns={[
                { head: 'Host', width: '34%', cell: (row) => <HostName row={row} /> },
                { head: 'Agents', cell: ({ agents }) => <UntrustedText text={agents.join(', ')} /> },
                { head: 'Gateway', cell: ({ gateway }) => gateway },
                { head: 'Requests', isWhole: true, cell: ({ requests }) => requests.toLocaleString('en-US') },
                { head: 'Last', isWhole: true, cell: ({ last }) => <AgoText at={last} /> },
              ]}
              actions={(row) => (
                <Button
                  variant="default"
                  size="xs"
                  onClick={() => setChosen(row)}
                  aria-label={`Show manifest for ${row.host}`}
                >
                  Show manifest
                </Button>
              )}
            />
          )
        }
      </Loaded>
      <ManifestDialog host={chosen} onClose={() => setChosen(null)} />
    </Panel>
  )
}

function HostName({ row: { host, port, known } }: { readonly row: UnownedHost }) {
  return (
    <>
      <span className="mono">
        <UntrustedText text={port === 443 ? host : `${host}:${port}`} />
      </span>
      {known === null ? null : (
        <Text size="sm" c="dimmed">
          {known}
        </Text>
      )}
    </>
  )
}

function ManifestDialog({
  host,
  onClose,
}: {
  readonly host: UnownedHost | null
  readonly onClose: () => void
}) {
  return (
    <Modal
      opened={host !== null}
      onClose={onClose}
      title={host === null ? '' : `Allow access to ${host.host}`}
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      {host === null ? null : <Manifests host={host} />}
    </Modal>
  )
}

function Manifests({ host: { manifests, known } }: { readonly host: UnownedHost }) {
  return (
    <Stack gap="md">
      {known === null ? null : <Text size="sm">{known}</Text>}
      {manifests.connector === null ? null : (
        <div>
          <Text fw={600} mb={4}>
            As a connector
          </Text>
          <CopyText text={manifests.connector} label="Connector manifest" />
        </div>
      )}
      <div>
        <Text fw={600} mb={4}>
          {manifests.connector === null ? 'In the egress list' : 'Or in the egress list'}
        </Text>
        <CopyText text={manifests.egress} label="Egress lines" />
      </div>
    </Stack>
  )
}
