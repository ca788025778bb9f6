import { Group, Paper, Stack, Text } from '@mantine/core'
import type { ConnectorView } from '../../../../core/wire/connectors.ts'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { CONNECTOR_LABELS } from '../../labels/connector-types.ts'
import { CredentialActions } from '../connectors/credential-actions.tsx'
import { CredentialBadge } from '../connectors/credential-badge.tsx'

type Props = { readonly rows: readonly ConnectorView[]; readonly onDone: () => void }

/**
 * Lists the connectors of the installation with the state of their credentials. The user can add missing credentials
 * here.
 */
export function ExistingConnectors({ rows, onDone }: Props) {
  return (
    <Stack gap="xs">
      {rows.map((row) => (
        <Paper key={row.id} withBorder p="sm" data-row={row.name}>
          <Group justify="space-between" align="flex-start">
            <div>
              <Text fw={600} component="h3" size="sm">
                {CONNECTOR_LABELS[row.type]?.title ?? row.type}
              </Text>
              <Text size="sm" c="dimmed">
                <UntrustedText text={`${row.name}: ${row.domains.join(', ')}`} />
              </Text>
              <CredentialBadge row={row} />
            </div>
            <CredentialActions row={row} onDone={onDone} />
          </Group>
        </Paper>
      ))}
    </Stack>
  )
}
