import { Select, Text } from '@mantine/core'
import { useState } from 'react'
import type { ConnectorTypeName } from '../../../../core/wire/connectors.ts'
import { call } from '../../api/client.ts'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { CONNECTOR_LABELS } from '../../labels/connector-types.ts'
import { useResource } from '../../live/use-resource.ts'
import { ConnectorForm } from '../get-started/connector-form.tsx'
import { connectorProblem, EMPTY_DRAFT, newConnector, requestOf } from '../get-started/draft.ts'

type Props = { readonly isOpen: boolean; readonly onClose: () => void; readonly onSaved: () => void }

/**
 * Renders the dialog that adds a connector. The access rule of the connector is stored as permissions for all agents.
 */
export function NewConnector({ isOpen, onClose, onSaved }: Props) {
  const overview = useResource('GET /api/dashboard/overview', isOpen ? {} : null)
  const catalogue = useResource('GET /api/dashboard/catalogue', isOpen ? {} : null)
  const [gateway, setGateway] = useState<string | null>(null)
  const [draft, setDraft] = useState(() => newConnector('codehost', 0))
  const gateways = overview.data?.gateways.map(({ name }) => name) ?? []
  const chosen = gateway ?? gateways[0] ?? null
  const problem = connectorProblem(draft)
  const save = useMutation(async () => {
    const gatewayDraft = { ...EMPTY_DRAFT.gateway, name: chosen ?? '' }
    const { gateway: target, connectors } = requestOf({
      ...EMPTY_DRAFT,
      gateway: gatewayDraft,
      connectors: [draft],
    })
    await call('POST /api/dashboard/gateway', { body: { gateway: target, connectors } })
    setDraft(newConnector('codehost', 0))
    onSaved()
    onClose()
  })
  return (
    <FormDialog
      title="Add connector"
      isOpen={isOpen}
      onClose={onClose}
      label="Save"
      isReady={chosen !== null && problem === null}
      mutation={save}
      size="xl"
    >
      <Select label="Gateway" data={gateways} value={chosen} onChange={setGateway} allowDeselect={false} />
      <Select
        label="Provider"
        data={Object.entries(CONNECTOR_LABELS).map(([value, { title }]) => ({ value, label: title }))}
        value={draft.type}
        onChange={(type) => setDraft(newConnector((type as ConnectorTypeName | null) ?? draft.type, 0))}
        allowDeselect={false}
      />
      <ConnectorForm
        draft={draft}
        kind={catalogue.data?.connectors.find(({ type }) => type === draft.type) ?? null}
        onChange={setDraft}
      />
      <Text size="sm" c="dimmed" role="status">
        {problem ??
          'If a connector with the same provider and hosts exists, it gets this credential and access rule.'}
      </Text>
    </FormDialog>
  )
}
