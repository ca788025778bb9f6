import { Button, Group, Stack, Text } from '@mantine/core'
import type { ConnectorTypeName, ConnectorView } from '../../../../core/wire/connectors.ts'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { CONNECTOR_LABELS } from '../../labels/connector-types.ts'
import { useResource } from '../../live/use-resource.ts'
import { ConnectorForm } from './connector-form.tsx'
import { type ConnectorDraft, needsDomains, newConnector } from './draft.ts'
import { ExistingConnectors } from './existing-connectors.tsx'

type Props = {
  readonly connectors: readonly ConnectorDraft[]
  readonly onChange: (connectors: readonly ConnectorDraft[]) => void
}

/** Renders step 3 of the wizard: the user adds connectors with their credentials and access rules. */
export function ConnectorsStep({ connectors, onChange }: Props) {
  const kinds = useResource('GET /api/dashboard/catalogue', {})
  const existing = useResource('GET /api/dashboard/connectors', {}, { on: ['config'] })
  return (
    <Loaded of={kinds}>
      {({ connectors: offered }) => (
        // Waits for both replies, because the step must not offer a type if a connector already owns the hosts of
        // this type.
        <Loaded of={existing}>
          {({ connectors: rows }) => (
            <Stack gap="md">
              <Text size="sm" c="dimmed">
                Each connector has a credential, which agents never see. A credential that you add to an
                existing connector is stored at once. You can skip this step and add connectors later.
              </Text>
              <ExistingConnectors rows={rows} onDone={existing.reload} />
              {connectors.map((draft) => (
                <ConnectorForm
                  key={draft.key}
                  draft={draft}
                  kind={offered.find(({ type }) => type === draft.type) ?? null}
                  onChange={(changed) =>
                    onChange(connectors.map((each) => (each.key === draft.key ? changed : each)))
                  }
                  onRemove={() => onChange(connectors.filter((each) => each.key !== draft.key))}
                />
              ))}
              <AddConnector
                kinds={offered.filter(({ type }) => isOffered(type, rows))}
                onAdd={(type) => {
                  const key = Math.max(0, ...connectors.map((each) => each.key)) + 1
                  onChange([...connectors, newConnector(type, key)])
                }}
              />
            </Stack>
          )}
        </Loaded>
      )}
    </Loaded>
  )
}

type Kind = { readonly type: ConnectorTypeName; readonly actions: number }
type AddProps = { readonly kinds: readonly Kind[]; readonly onAdd: (type: ConnectorTypeName) => void }

function AddConnector({ kinds, onAdd }: AddProps) {
  return (
    <div>
      <Text size="sm" fw={600} mb={6}>
        Add connector
      </Text>
      <Group gap="xs">
        {kinds.map(({ type, actions }) => (
          <Button
            key={type}
            variant="default"
            size="xs"
            leftSection={<Icon name="plus" size={14} />}
            onClick={() => onAdd(type)}
            title={actions === 0 ? type : `${type}: ${actions} named actions`}
          >
            {CONNECTOR_LABELS[type]?.title ?? type}
          </Button>
        ))}
      </Group>
    </div>
  )
}

/**
 * Reports whether a connector of the type can be added. It cannot if a connector already owns the hosts of the
 * provider.
 */
function isOffered(type: string, rows: readonly ConnectorView[]): boolean {
  return needsDomains(type) || !rows.some((row) => row.type === type)
}
