import { Button, Code, Text } from '@mantine/core'
import { useDisclosure, useMediaQuery } from '@mantine/hooks'
import type { PermissionView } from '../../../../core/wire/permissions.ts'
import { call } from '../../api/client.ts'
import { DecisionBadge } from '../../components/decision/decision-badge.tsx'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { BulkAction } from '../../components/list/bulk-actions.tsx'
import { SearchableTable } from '../../components/list/searchable-table.tsx'
import { isReadOnly, SourceBadge } from '../../components/manifest/source-badge.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { useResource } from '../../live/use-resource.ts'
import { useSession } from '../../session/session.tsx'
import { NewPermission } from './new-permission.tsx'

/**
 * Number of permissions that are listed before the button "Show all". The number is small, because the effective
 * permissions are below the list.
 */
const FEW = 6
const FEW_NARROW = 2

/** Lists the stored permissions, newest last. */
export function PermissionRows() {
  const [isOpen, { open, close }] = useDisclosure(false)
  const permissions = useResource('GET /api/dashboard/permissions', {}, { on: ['config'] })
  return (
    <Panel
      title="Permissions"
      aside={
        <Button size="xs" leftSection={<Icon name="plus" size={14} />} onClick={open}>
          Add permission
        </Button>
      }
    >
      <Loaded of={permissions}>
        {({ permissions: rows }) =>
          rows.length === 0 ? <NothingAllowed /> : <Rows rows={rows} onRemoved={permissions.reload} />
        }
      </Loaded>
      <NewPermission isOpen={isOpen} onClose={close} onSaved={permissions.reload} />
    </Panel>
  )
}

function NothingAllowed() {
  return (
    <EmptyState icon="permissions" title="No permissions">
      Gateways deny every action without a permission. Add a permission for an action such as codehost.pr.get,
      or for a family such as codehost.issue.*.
    </EmptyState>
  )
}

type RowsProps = { readonly rows: readonly PermissionView[]; readonly onRemoved: () => void }

function Rows({ rows, onRemoved }: RowsProps) {
  const { isYaml } = useSession()
  const isWide = useMediaQuery('(min-width: 62em)', true, { getInitialValueInEffect: false })
  return (
    <SearchableTable
      rows={rows}
      keyOf={({ id }) => id}
      nameOf={({ action_pattern, agent, gateway_name }) =>
        `${action_pattern} for ${agent === '*' ? 'all agents' : agent} at ${gateway_name}`
      }
      textsOf={({ action_pattern, agent, gateway_name, decision }) => [
        ...[action_pattern, agent, gateway_name, decision.replaceAll('_', ' ')],
      ]}
      noun="permissions"
      queryName="pattern"
      limit={isWide ? FEW : FEW_NARROW}
      columns={[
        { head: 'Pattern', cell: (row) => <Pattern row={row} /> },
        { head: 'Decision', isWhole: true, cell: ({ decision }) => <DecisionBadge decision={decision} /> },
        { head: 'Agent', isWhole: true, cell: ({ agent }) => <For agent={agent} /> },
        { head: 'Gateway', isWhole: true, cell: ({ gateway_name }) => gateway_name },
        { head: 'Source', isWhole: true, cell: (row) => <SourceBadge row={row} /> },
      ]}
      actions={(row) => <Remove row={row} onRemoved={onRemoved} />}
      bulk={isYaml ? [] : [REMOVE]}
      onDone={onRemoved}
    />
  )
}

const REMOVE: BulkAction<PermissionView> = {
  label: 'Remove',
  done: 'removed',
  about: 'Less specific permissions then decide these actions. Without one, they are denied:',
  appliesTo: (row) => !isReadOnly(row),
  run: async ({ id }) => call('DELETE /api/dashboard/permissions', { query: { permission_id: id } }),
}

function For({ agent }: { readonly agent: string }) {
  return agent === '*' ? 'all agents' : <UntrustedText text={agent} />
}

function Remove({ row, onRemoved }: { readonly row: PermissionView; readonly onRemoved: () => void }) {
  const { isYaml } = useSession()
  // A permission of a manifest can be removed only in the manifest. The column Source names the manifest.
  if (isReadOnly(row) && !isYaml) return null
  return (
    <ConfirmButton
      label="Remove"
      ariaLabel={`Remove ${row.action_pattern}`}
      title="Remove this permission"
      onConfirm={async () => {
        await call('DELETE /api/dashboard/permissions', { query: { permission_id: row.id } })
        onRemoved()
      }}
    >
      <Code>{row.action_pattern}</Code> of {row.gateway_name} is then decided by a less specific permission,
      or denied if there is none.
    </ConfirmButton>
  )
}

/** Shows the pattern of a permission with its warnings. */
function Pattern({ row }: { readonly row: PermissionView }) {
  return (
    <>
      <Code className="note">{row.action_pattern}</Code>
      {(row.warnings ?? []).map((warning) => (
        <Text key={warning} size="xs" c="dimmed">
          Warning: {warning}
        </Text>
      ))}
    </>
  )
}
