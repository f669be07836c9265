require "bigdecimal"

module Bank
  # An account of one customer.
  class Account < Record
    attr_reader :owner, :balance

    def self.open(owner, deposit: 0)
      raise ArgumentError, "a deposit is what somebody brings along, so it cannot be less than nothing" if deposit < 0
      new(owner, BigDecimal(deposit)).tap { |account| account.write_first_line_of_its_statement(Time.now) }
    end

    def overdrawn?
      # A cent below nothing is still an honest mistake of rounding in one of the older programs, so it is let pass.
      balance < BigDecimal("-0.01") && !owner.credit_limit_agreed_with_the_branch_in_writing?
    end
  end
end
