import { Button, Code, Text } from '@mantine/core'
import { useDisclosure, useMediaQuery } from '@mantine/hooks'
import { useState } from 'react'
import type { PermissionView } from '../../../../core/wire/permissions.ts'
import { call } from '../../api/client.ts'
import { DecisionBadge } from '../../components/decision/decision-badge.tsx'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { RowTable } from '../../components/layout/row-table.tsx'
import { isReadOnly, SourceBadge } from '../../components/manifest/source-badge.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { useResource } from '../../live/use-resource.ts'
import { useSession } from '../../session/session.tsx'
import { NewPermission } from './new-permission.tsx'

/**
 * Number of permissions that are listed before the button "Show all". The number is small, because the effective permissions
 * are below the list.
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
          rows.length === 0 ? <NothingAllowed /> : <FewOrAll rows={rows} onRemoved={permissions.reload} />
        }
      </Loaded>
      <NewPermission isOpen={isOpen} onClose={close} onSaved={permissions.reload} />
    </Panel>
  )
}

function NothingAllowed() {
  return (
    <EmptyState icon="permissions" title="No permissions">
      Gateways deny every action without a permission. Add one for an action such as codehost.pr.get, or for a
      family such as codehost.issue.*.
    </EmptyState>
  )
}

type RowsProps = { readonly rows: readonly PermissionView[]; readonly onRemoved: () => void }

function FewOrAll({ rows, onRemoved }: RowsProps) {
  const [isWhole, setIsWhole] = useState(false)
  const isWide = useMediaQuery('(min-width: 62em)', true, { getInitialValueInEffect: false })
  const few = isWide ? FEW : FEW_NARROW
  return (
    <>
      <Rows rows={isWhole ? rows : rows.slice(0, few)} onRemoved={onRemoved} />
      {rows.length > few ? (
        <Button variant="subtle" size="xs" mt="xs" onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? 'Show fewer' : `Show all ${rows.length}`}
        </Button>
      ) : null}
    </>
  )
}

function Rows({ rows, onRemoved }: RowsProps) {
  return (
    <RowTable
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Pattern', cell: (row) => <Pattern row={row} /> },
        { head: 'Decision', isWhole: true, cell: ({ decision }) => <DecisionBadge decision={decision} /> },
        { head: 'Agent', isWhole: true, cell: ({ agent }) => <For agent={agent} /> },
        { head: 'Gateway', isWhole: true, cell: ({ gateway_name }) => gateway_name },
        { head: 'Source', isWhole: true, cell: (row) => <SourceBadge row={row} /> },
      ]}
      actions={(row) => <Remove row={row} onRemoved={onRemoved} />}
    />
  )
}

function For({ agent }: { readonly agent: string }) {
  return agent === '*' ? 'all agents' : <UntrustedText text={agent} />
}

function Remove({ row, onRemoved }: { readonly row: PermissionView; readonly onRemoved: () => void }) {
  const { isYaml } = useSession()
  if (isReadOnly(row) && !isYaml) {
    return (
      <Text size="sm" c="dimmed" component="span">
        set by its manifest
      </Text>
    )
  }
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
