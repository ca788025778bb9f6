import { ActionIcon, Menu } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Icon } from '../layout/icon.tsx'
import { ConfirmDialog } from './confirm-dialog.tsx'

export type RowMenuAction = {
  readonly label: string
  /** Title of the confirmation dialog. */
  readonly title: string
  /** Description of the consequences, which the confirmation dialog shows. */
  readonly about: ReactNode
  readonly onConfirm: () => Promise<void>
}

/** Renders a menu of the row actions that are used rarely. Each of them requires a confirmation. */
export function RowMenu({
  name,
  actions,
}: {
  readonly name: string
  readonly actions: readonly RowMenuAction[]
}) {
  const [chosen, setChosen] = useState<RowMenuAction | null>(null)
  const [isOpen, setIsOpen] = useState(false)
  const open = (action: RowMenuAction) => {
    setChosen(action)
    setIsOpen(true)
  }
  return (
    <>
      <Menu position="bottom-end" withInitialFocusPlaceholder={false}>
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label={`More actions for ${name}`}>
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {actions.map((action) => (
            <Menu.Item key={action.label} onClick={() => open(action)}>
              {action.label} …
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {chosen === null ? null : (
        <ConfirmDialog
          title={chosen.title}
          label={chosen.label}
          isOpen={isOpen}
          onClose={() => setIsOpen(false)}
          onConfirm={chosen.onConfirm}
        >
          {chosen.about}
        </ConfirmDialog>
      )}
    </>
  )
}
