import { Button, Group, Stack, Text } from '@mantine/core'
import type { ConnectorTypeName } from '../../../../core/wire/connectors.ts'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { CONNECTOR_LABELS } from '../../labels/connector-types.ts'
import { useResource } from '../../live/use-resource.ts'
import { ConnectorForm } from './connector-form.tsx'
import { type ConnectorDraft, newConnector } from './draft.ts'

type Props = {
  readonly connectors: readonly ConnectorDraft[]
  readonly onChange: (connectors: readonly ConnectorDraft[]) => void
}

/** Step 3 of the wizard: the user adds connectors with their credentials and access rules. */
export function ConnectorsStep({ connectors, onChange }: Props) {
  const kinds = useResource('GET /api/dashboard/catalogue', {})
  const add = (type: ConnectorTypeName) => {
    const key = Math.max(0, ...connectors.map((each) => each.key)) + 1
    onChange([...connectors, newConnector(type, key)])
  }
  return (
    <Loaded of={kinds}>
      {(reply) => (
        <Stack gap="md">
          <Text size="sm" c="dimmed">
            Each connector has a credential, which agents never see, and an access rule. You can skip this
            step and add connectors later.
          </Text>
          {connectors.map((draft) => (
            <ConnectorForm
              key={draft.key}
              draft={draft}
              kind={reply.connectors.find(({ type }) => type === draft.type) ?? null}
              onChange={(changed) =>
                onChange(connectors.map((each) => (each.key === draft.key ? changed : each)))
              }
              onRemove={() => onChange(connectors.filter((each) => each.key !== draft.key))}
            />
          ))}
          <div>
            <Text size="sm" fw={600} mb={6}>
              Add connector
            </Text>
            <Group gap="xs">
              {reply.connectors.map(({ type, actions }) => (
                <Button
                  key={type}
                  variant="default"
                  size="xs"
                  leftSection={<Icon name="plus" size={14} />}
                  onClick={() => add(type)}
                  title={actions === 0 ? type : `${type}: ${actions} named actions`}
                >
                  {CONNECTOR_LABELS[type]?.title ?? type}
                </Button>
              ))}
            </Group>
          </div>
        </Stack>
      )}
    </Loaded>
  )
}
