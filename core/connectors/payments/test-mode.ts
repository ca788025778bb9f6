/** Catalogue rows for operations that simulate events in the provider's test mode. */
export const TEST_MODE = `
  POST   /v1/test_helpers/confirmation_tokens                                  test_confirmation_token.create               write high
  POST   /v1/test_helpers/customers/{id}/fund_cash_balance                     test_customer.fund_cash_balance              write medium
  POST   /v1/test_helpers/issuing/authorizations                               test_issuing_authorization.create            write medium
  POST   /v1/test_helpers/issuing/authorizations/{id}/capture                  test_issuing_authorization.capture           write medium
  POST   /v1/test_helpers/issuing/authorizations/{id}/expire                   test_issuing_authorization.expire            write high
  POST   /v1/test_helpers/issuing/authorizations/{id}/finalize_amount          test_issuing_authorization.finalize_amount   write medium
  POST   /v1/test_helpers/issuing/authorizations/{id}/fraud_challenges/respond test_issuing_authorization.respond_fraud_challenge write medium
  POST   /v1/test_helpers/issuing/authorizations/{id}/increment                test_issuing_authorization.increment         write medium
  POST   /v1/test_helpers/issuing/authorizations/{id}/reverse                  test_issuing_authorization.reverse           write medium
  POST   /v1/test_helpers/issuing/cards/{id}/shipping/deliver                  test_issuing_card.deliver_shipping           write medium
  POST   /v1/test_helpers/issuing/cards/{id}/shipping/fail                     test_issuing_card.fail_shipping              write medium
  POST   /v1/test_helpers/issuing/cards/{id}/shipping/return                   test_issuing_card.return_shipping            write medium
  POST   /v1/test_helpers/issuing/cards/{id}/shipping/ship                     test_issuing_card.ship_shipping              write medium
  POST   /v1/test_helpers/issuing/cards/{id}/shipping/submit                   test_issuing_card.submit_shipping            write medium
  POST   /v1/test_helpers/issuing/personalization_designs/{id}/activate        test_issuing_personalization_design.activate write medium
  POST   /v1/test_helpers/issuing/personalization_designs/{id}/deactivate      test_issuing_personalization_design.deactivate write medium
  POST   /v1/test_helpers/issuing/personalization_designs/{id}/reject          test_issuing_personalization_design.reject   write medium
  POST   /v1/test_helpers/issuing/transactions/create_force_capture            test_issuing_transaction.force_capture       write medium amount
  POST   /v1/test_helpers/issuing/transactions/create_unlinked_refund          test_issuing_transaction.refund_unlinked     write medium amount
  POST   /v1/test_helpers/issuing/transactions/{id}/refund                     test_issuing_transaction.refund              write medium
  POST   /v1/test_helpers/refunds/{id}/expire                                  test_refund.expire                           write medium
  POST   /v1/test_helpers/terminal/readers/{id}/present_payment_method         test_terminal_reader.present_payment_method  write medium
  POST   /v1/test_helpers/terminal/readers/{id}/succeed_input_collection       test_terminal_reader.succeed_input_collection write medium
  POST   /v1/test_helpers/terminal/readers/{id}/timeout_input_collection       test_terminal_reader.timeout_input_collection write medium
  GET    /v1/test_helpers/test_clocks                                          test_clock.list                              read  low
  POST   /v1/test_helpers/test_clocks                                          test_clock.create                            write medium
  GET    /v1/test_helpers/test_clocks/{id}                                     test_clock.get                               read  low
  DELETE /v1/test_helpers/test_clocks/{id}                                     test_clock.delete                            write high
  POST   /v1/test_helpers/test_clocks/{id}/advance                             test_clock.advance                           write medium
  POST   /v1/test_helpers/treasury/inbound_transfers/{id}/fail                 test_treasury_inbound_transfer.fail          write medium
  POST   /v1/test_helpers/treasury/inbound_transfers/{id}/return               test_treasury_inbound_transfer.return        write medium
  POST   /v1/test_helpers/treasury/inbound_transfers/{id}/succeed              test_treasury_inbound_transfer.succeed       write medium
  POST   /v1/test_helpers/treasury/outbound_payments/{id}                      test_treasury_outbound_payment.update        write medium
  POST   /v1/test_helpers/treasury/outbound_payments/{id}/fail                 test_treasury_outbound_payment.fail          write medium
  POST   /v1/test_helpers/treasury/outbound_payments/{id}/post                 test_treasury_outbound_payment.post          write medium
  POST   /v1/test_helpers/treasury/outbound_payments/{id}/return               test_treasury_outbound_payment.return        write medium
  POST   /v1/test_helpers/treasury/outbound_transfers/{id}                     test_treasury_outbound_transfer.update       write medium
  POST   /v1/test_helpers/treasury/outbound_transfers/{id}/fail                test_treasury_outbound_transfer.fail         write medium
  POST   /v1/test_helpers/treasury/outbound_transfers/{id}/post                test_treasury_outbound_transfer.post         write medium
  POST   /v1/test_helpers/treasury/outbound_transfers/{id}/return              test_treasury_outbound_transfer.return       write medium
  POST   /v1/test_helpers/treasury/received_credits                            test_treasury_received_credit.create         write medium
  POST   /v1/test_helpers/treasury/received_debits                             test_treasury_received_debit.create          write medium
  POST   /v2/money_management/test_helpers/financial_addresses/{id}/credit     test_financial_address.credit                write medium amount
  POST   /v2/test_helpers/money_management/recipient_verifications             test_recipient_verification.create           write medium
`
