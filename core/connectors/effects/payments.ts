/** Effect classes of the operations of the connector type `payments`. `effect-table.ts` describes the format. */
export const PAYMENTS_EFFECTS = `
  # Money or credit leaves the account, or a spending limit changes.
  money_out charge.refund payout.create payout_intent.{confirm,create} transfer.create topup.create
  money_out application_fee_refund.create credit_note.create customer_balance_transaction.create
  money_out billing_credit_grant.create climate_order.create dispute.close balance_setting.update
  money_out issuing_authorization.approve issuing_card.{create,update} outbound_payment.create
  money_out inbound_transfer.create treasury_credit_reversal.create treasury_inbound_transfer.create
  money_out treasury_outbound_payment.create treasury_outbound_transfer.create
  money_out terminal_reader.refund_payment
  money_out cash_balance.update
  # Accounts that money can be paid to.
  money_out external_account.{create,update} outbound_setup_intent.{create,update} us_bank_account.create
  money_out gb_bank_account.create
  # Content, including card numbers, is sent to an address in the request.
  egress forwarding_request.create webhook_endpoint.update event_destination.{create,enable,ping,update}
  # The response also contains the signing secret.
  egress,credential_out webhook_endpoint.create
  # Anyone with the link can fetch the file.
  publish file_link.{create,update}
  # The response contains a key, a session secret or a sign-in link.
  credential_out account.create_login_link account_link.create account_session.create
  credential_out billing_meter_event.create_session
  credential_out billing_portal_session.create customer_session.create ephemeral_key.create
  credential_out financial_connections_session.create terminal_connection_token.create
  # The response contains a secret that an app stored.
  credential_out app_secret.find
  # Another account or app gains access.
  credential_out,access_grant oauth.create_token
  access_grant app_install.{create,update} account.create account_capability.update
  # Data stored at the provider is deleted.
  delete account.{close,delete} account_person.delete app_install.uninstall app_secret.delete
  delete apple_pay_domain.delete
  delete coupon.delete customer.delete customer_source.delete ephemeral_key.delete event_destination.delete
  delete external_account.delete invoice.delete invoice_item.delete plan.delete product.delete
  delete product_feature.delete
  delete radar_value_list.delete radar_value_list_item.delete subscription_item.delete tax_id.delete
  delete terminal_configuration.delete terminal_location.delete terminal_reader.delete test_clock.delete
  delete treasury_financial_account.close verification_session.redact webhook_endpoint.delete
  # Limits of spending by card, and the features of an account that pays.
  money_out issuing_cardholder.update treasury_financial_account.update_features
  # The response contains a sign-in link.
  credential_out terminal_onboarding_link.create
  # Money is received or requested.
  none charge.{capture,create,update} checkout_session.{create,expire,update} credit_note.{update,void}
  none customer_balance_transaction.update dispute.update
  none invoice.{add_lines,attach_payment,create,finalize,mark_uncollectible,pay,remove_lines,send}
  none invoice.{update,update_line,update_lines,void} invoice_item.{create,update}
  none payment_intent.{apply_customer_balance,cancel,capture,confirm,create,increment_authorization}
  none payment_intent.{update,verify_microdeposits} payment_link.{create,update}
  none payment_method.{attach,create,detach,update}
  none payment_record.{report_payment,report_payment_attempt,report_payment_attempt_canceled}
  none payment_record.{report_payment_attempt_failed,report_payment_attempt_guaranteed}
  none payment_record.{report_payment_attempt_informational,report_refund}
  none quote.{accept,cancel,create,finalize,update} refund.{cancel,update} application_fee_refund.update
  none setup_intent.{cancel,confirm,create,update,verify_microdeposits} source.{create,update,verify}
  none subscription.{cancel,create,delete_discount,migrate,pause,resume,update}
  none subscription_item.{create,update} subscription_schedule.{cancel,create,release,update}
  none terminal_reader.{cancel_action,collect_inputs,collect_payment_method,confirm_payment_intent}
  none terminal_reader.{create,process_payment_intent,process_setup_intent,set_reader_display,update}
  none three_d_secure_authentication.{cancel,create,submit} billing_credit_grant.{expire,update,void}
  none billing_meter_event.{create,stream} billing_meter_event_adjustment.create
  # A transfer of money is reversed, stopped or described.
  none payout.{cancel,reverse,update}
  none payout_intent.{cancel,refresh_fx_quote,refresh_recipient_verification,update}
  none transfer.{reverse,update} transfer_reversal.update topup.{cancel,update}
  none money_transaction.{refresh_regulatory_receipt,update} outbound_payment.cancel
  none outbound_setup_intent.cancel climate_order.{cancel,update} treasury_debit_reversal.create
  none treasury_financial_account.{create,update} treasury_outbound_payment.cancel
  none treasury_outbound_transfer.cancel treasury_inbound_transfer.cancel
  none issuing_authorization.{decline,update} issuing_dispute.{create,submit,update}
  none issuing_transaction.update
  # Prices, products, taxes and texts.
  none billing_alert.{activate,archive,create,deactivate}
  none billing_feedback_option.{create,deactivate,update}
  none billing_meter.{create,deactivate,reactivate,update} billing_portal_configuration.{create,update}
  none catalog_import.create coupon.{create,update} entitlement_feature.{create,update}
  none invoice_rendering_template.{archive,unarchive} plan.{create,update} price.{create,update}
  none product.{create,update} product_feature.create promotion_code.{create,update}
  none shipping_rate.{create,update} tax_calculation.create tax_id.create tax_location.create
  none tax_rate.{create,update} tax_registration.{create,update} tax_setting.update
  none tax_transaction.{create,reverse} trial_offer.{create,update}
  # Records of persons, accounts and devices.
  none account.{reject,unreject,update} account_person.{create,update} account_token.create
  none customer.{create,create_funding_instructions,delete_discount,update}
  none customer_source.{create,update,verify} apple_pay_domain.create financial_account.update
  none financial_address.create financial_connections_account.{disconnect,refresh,subscribe,unsubscribe}
  none gb_bank_account.{archive,unarchive}
  none us_bank_account.{archive,confirm_microdeposits,send_microdeposits,unarchive,update}
  none payout_method.{archive,unarchive} payment_method_configuration.{create,update}
  none payment_method_domain.{create,update,validate} person_token.create
  none recipient_verification.{acknowledge,create} issuing_cardholder.create
  none issuing_personalization_design.{create,update} issuing_token.update
  none terminal_configuration.{create,update} terminal_location.{create,update} token.create
  none verification_session.{cancel,create,update} file.upload report_run.create
  none radar_payment_evaluation.create radar_value_list.{create,update} radar_value_list_item.create
  none review.approve app_secret.set event_destination.disable oauth.deauthorize
  # Test mode without real money.
  none test_clock.{advance,create} test_confirmation_token.create test_customer.fund_cash_balance
  none test_financial_address.credit
  none test_issuing_authorization.{capture,create,expire,finalize_amount,increment}
  none test_issuing_authorization.{respond_fraud_challenge,reverse}
  none test_issuing_card.{deliver_shipping,fail_shipping,return_shipping,ship_shipping,submit_shipping}
  none test_issuing_personalization_design.{activate,deactivate,reject}
  none test_issuing_transaction.{force_capture,refund,refund_unlinked}
  none test_recipient_verification.create test_refund.expire
  none test_terminal_reader.{present_payment_method,succeed_input_collection,timeout_input_collection}
  none test_treasury_inbound_transfer.{fail,return,succeed}
  none test_treasury_outbound_payment.{fail,post,return,update}
  none test_treasury_outbound_transfer.{fail,post,return,update} test_treasury_received_credit.create
  none test_treasury_received_debit.create
  # List or describe secrets without their values; the name of an expanded field reveals one that contains a value.
  none account_token.get app_secret.list confirmation_token.get issuing_token.{get,list} person_token.get
  none token.get
  # Reads that return no secret.
  none @reads
`
