import type { InvitationView } from '../../../../core/wire/users.ts'
import { call } from '../../api/client.ts'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { RowTable } from '../../components/layout/row-table.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { ROLE_LABELS } from '../../labels/role-labels.ts'

/** Lists the unused invitations. */
export function Invitations(props: {
  readonly invitations: readonly InvitationView[]
  readonly mayAct: boolean
  readonly onDone: () => void
}) {
  const { invitations, mayAct, onDone } = props
  if (invitations.length === 0) return null
  return (
    <Panel title="Pending invitations">
      <RowTable
        rows={invitations}
        keyOf={({ id }) => id}
        columns={[
          { head: 'E-mail', cell: ({ email }) => <UntrustedText text={email} /> },
          {
            head: 'Role',
            isWhole: true,
            cell: ({ role }) => ROLE_LABELS.find(({ value }) => value === role)?.label,
          },
          { head: 'Invited by', cell: ({ invited_by }) => <UntrustedText text={invited_by ?? 'unknown'} /> },
          { head: 'Expires', isWhole: true, cell: ({ expires_at }) => <TimeText at={expires_at} /> },
        ]}
        actions={mayAct ? (row) => <Revoke invitation={row} onDone={onDone} /> : undefined}
      />
    </Panel>
  )
}

function Revoke({
  invitation,
  onDone,
}: {
  readonly invitation: InvitationView
  readonly onDone: () => void
}) {
  const { id: invitation_id, email } = invitation
  return (
    <ConfirmButton
      label="Revoke"
      ariaLabel={`Revoke the invitation of ${email}`}
      title={`Revoke the invitation of ${email}`}
      onConfirm={async () => {
        await call('POST /api/dashboard/users', { body: { action: 'revoke_invitation', invitation_id } })
        onDone()
      }}
    >
      The link of the invitation stops working immediately.
    </ConfirmButton>
  )
}
