import { Anchor, Code, Text } from '@mantine/core'
import type { GrantView } from '../../../../core/wire/grants.ts'
import { call } from '../../api/client.ts'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { RowTable } from '../../components/layout/row-table.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'

/**
 * Lists grants. A grant is an approval that covers later requests for a time. Renders nothing when there are no
 * grants.
 */
export function GrantRows() {
  const grants = useResource('GET /api/dashboard/grants', {}, { on: ['approvals'], everyMs: 15_000 })
  if (grants.data !== null && grants.data.grants.length === 0) return null
  return (
    <Panel title="Grants">
      <Loaded of={grants}>{({ grants: rows }) => <Rows rows={rows} onRevoked={grants.reload} />}</Loaded>
    </Panel>
  )
}

type Props = { readonly rows: readonly GrantView[]; readonly onRevoked: () => void }

function Rows({ rows, onRevoked }: Props) {
  return (
    <RowTable
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Action', cell: (row) => <Covered row={row} /> },
        { head: 'Agent', isWhole: true, cell: ({ agent }) => <UntrustedText text={agent} /> },
        { head: 'Uses', isWhole: true, cell: ({ uses, max_uses }) => `${uses} of ${max_uses}` },
        { head: 'State', isWhole: true, cell: ({ status }) => STATUS[status] },
        { head: 'Until', isWhole: true, cell: ({ expires_at }) => <TimeText at={expires_at} /> },
        {
          head: 'By',
          cell: ({ created_by, approval_id }) => (
            <Anchor inherit href={hrefOf('approvals', { tab: 'answered', id: approval_id })}>
              <UntrustedText text={created_by} />
            </Anchor>
          ),
        },
      ]}
      actions={(row) => (row.status === 'active' ? <Revoke row={row} onRevoked={onRevoked} /> : null)}
    />
  )
}

const STATUS: Readonly<Record<GrantView['status'], string>> = {
  active: 'Active',
  expired: 'Expired',
  spent: 'All uses used',
  revoked: 'Revoked',
  ended: 'Approver lost the right',
}

function Covered({ row }: { readonly row: GrantView }) {
  const conditions = Object.entries(row.parameters).map(
    ([name, value]) => `${name} = ${JSON.stringify(value)}`,
  )
  return (
    <>
      <Code className="note">{row.action_type}</Code>{' '}
      {row.any_target ? 'on any target' : row.target === null ? null : <UntrustedText text={row.target} />}
      {[
        ...conditions,
        ...(row.exact ? ['nothing else differs'] : []),
        ...row.rules.map((rule) => `held by ${rule}`),
      ].map((line) => (
        <Text key={line} size="xs" c="dimmed" component="div">
          <UntrustedText text={line} />
        </Text>
      ))}
    </>
  )
}

function Revoke({ row, onRevoked }: { readonly row: GrantView; readonly onRevoked: () => void }) {
  return (
    <ConfirmButton
      label="Revoke"
      ariaLabel={`Revoke the grant of ${row.action_type} for ${row.agent}`}
      title="Revoke this grant"
      onConfirm={async () => {
        await call('DELETE /api/dashboard/grants', { query: { grant_id: row.id } })
        onRevoked()
      }}
    >
      Requests with <Code>{row.action_type}</Code> then each need an answer of their own. Requests that were
      already sent are not affected.
    </ConfirmButton>
  )
}
